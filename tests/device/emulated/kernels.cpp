#include "device/emulated/kernels.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace plimsoll::emulated {
namespace {

constexpr std::size_t kTogether = 16;
constexpr std::string_view kKernel = "extern \"C\" __global__ void ";
constexpr std::string_view kRun = " run(";

void replace_all(std::string& text, std::string_view what,
                 std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos;
       at += with.size()) {
    text.replace(at, what.size(), with);
  }
}

// Behind the bracket that `open` is; brackets in quotes do not count.
std::size_t end_of_bracket(std::string_view text, std::size_t open) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted) continue;
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i + 1;
  }
  return text.size();
}

// Of ("template" : "=r"(a) : "r"(b), "r"(c) : "memory"): a call of what the
// template names first, with a, b and c.
std::string call_of(std::string_view statement) {
  std::string name;
  std::string operands;
  bool of_template = true;
  for (std::size_t i = 1; i < statement.size();) {
    if (statement[i] == '"') {
      const std::size_t end = statement.find('"', i + 1);
      if (of_template) name += statement.substr(i + 1, end - i - 1);
      i = end + 1;
    } else if (statement[i] == '(') {
      const std::size_t end = end_of_bracket(statement, i);
      operands += operands.empty() ? "" : ", ";
      operands += statement.substr(i + 1, end - i - 2);
      i = end;
    } else {
      of_template = of_template && statement[i] != ':';
      ++i;
    }
  }
  name = name.substr(0, name.find_first_of(" ;"));
  if (name.empty()) return "(void)0";
  std::replace(name.begin(), name.end(), '.', '_');
  return fmt::format("ptx_{}({})", name, operands);
}

// A function of its own that takes the kernel's pointers as one array.
std::string entry_text(const std::string& source, std::size_t number) {
  const std::size_t open = source.find(kRun, source.find(kKernel));
  const std::string_view parameters =
      std::string_view(source).substr(open, source.find(')', open) - open);
  std::string pointers;
  const auto count = 1 + std::count(parameters.begin(), parameters.end(), ',');
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    pointers += fmt::format("{}p[{}]", i > 0 ? ", " : "", i);
  }
  return fmt::format(
      "extern \"C\" __attribute__((visibility(\"default\"))) "
      "void run_{0}(void* const* p) {{ kernel_{0}::run({1}); }}\n",
      number, pointers);
}

std::string program_of(std::span<const std::string> sources) {
  std::string program = "#include \"device/emulated/words.h\"\n";
  std::string entries;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    entries += entry_text(sources[i], i);
    program += fmt::format("namespace {{ namespace kernel_{} {{\n{}}} }}\n", i,
                           host_text(sources[i]));
  }
  return program + entries;
}

}  // namespace

std::string host_text(const std::string& source) {
  std::string text;
  std::size_t from = 0;
  for (std::size_t at = 0; (at = source.find("asm", from)) != source.npos;) {
    const std::size_t open = source.find('(', at);
    const std::size_t end = end_of_bracket(source, open);
    text += source.substr(from, at - from);
    text += call_of(std::string_view(source).substr(open, end - open));
    from = end;
  }
  text += source.substr(from);
  replace_all(text, kKernel, "static void ");
  return text;
}

Kernels::Kernels() : block_(std::make_unique<Block>()) {
  std::string name =
      (std::filesystem::temp_directory_path() / "plimsoll_kernels_XXXXXX")
          .string();
  if (::mkdtemp(name.data()) != nullptr) folder_ = name;
}

Kernels::~Kernels() {
  for (void* library : libraries_) dlclose(library);
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

Status Kernels::compile(std::span<const std::string> sources, int at_once) {
  std::vector<std::string> missing;
  for (const std::string& source : sources) {
    if (!entries_.contains(source) &&
        std::find(missing.begin(), missing.end(), source) == missing.end()) {
      missing.push_back(source);
    }
  }
  std::vector<std::string> files;
  for (std::size_t i = 0; i < missing.size(); i += kTogether) {
    files.push_back(fmt::format("{}/{}", folder_, programs_++));
    std::ofstream(files.back() + ".cpp") << program_of(
        std::span(missing).subspan(i, std::min(kTogether, missing.size() - i)));
  }
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> compilers;
  for (int i = 0; i < at_once; ++i) {
    compilers.emplace_back([&] {
      for (std::size_t file; (file = next++) < files.size();) {
        const std::string command = fmt::format(
            PLIMSOLL_HOST_COMPILER
            " -std=c++20 -O1 -w -fPIC -shared -fvisibility=hidden "
            "-ffp-contract=off -I '" PLIMSOLL_ROOT "/src' -I '" PLIMSOLL_ROOT
            "/tests' {0}.cpp -o {0}.so 2> {0}.log",
            files[file]);
        static_cast<void>(std::system(command.c_str()));
      }
    });
  }
  for (std::thread& compiler : compilers) compiler.join();
  for (std::size_t i = 0; i < files.size(); ++i) {
    PLIMSOLL_RETURN_IF_ERROR(add(
        std::span(missing).subspan(
            i * kTogether, std::min(kTogether, missing.size() - i * kTogether)),
        files[i]));
  }
  return {};
}

Status Kernels::add(std::span<const std::string> sources,
                    const std::string& file) {
  void* const library = dlopen((file + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::ifstream log(file + ".log");
    return Error{ErrorCode::internal,
                 "the host's compiler refuses a kernel: " +
                     std::string(std::istreambuf_iterator<char>(log), {})};
  }
  libraries_.push_back(library);
  begin(library);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    entries_[sources[i]].call = reinterpret_cast<void (*)(void* const*)>(
        dlsym(library, fmt::format("run_{}", i).c_str()));
  }
  return {};
}

void Kernels::begin(void* library) {
  reinterpret_cast<void (*)(Here*)>(dlsym(library, "begin"))(block_->here());
}

Result<Kernels::Entry> Kernels::find(const std::string& source) {
  PLIMSOLL_RETURN_IF_ERROR(compile(std::span(&source, 1), 1));
  return entries_.at(source);
}

Status Kernels::run(Entry entry, int blocks, std::span<void* const> pointers) {
  backwards_ = !backwards_;
  for (int i = 0; i < blocks; ++i) {
    const int number = backwards_ ? blocks - 1 - i : i;
    std::string stuck = block_->run(entry.call, pointers.data(),
                                    static_cast<unsigned>(number), backwards_);
    if (stuck.empty()) continue;
    block_ = std::make_unique<Block>();
    for (void* library : libraries_) begin(library);
    return Error{ErrorCode::device, std::move(stuck)};
  }
  return {};
}

}  // namespace plimsoll::emulated
