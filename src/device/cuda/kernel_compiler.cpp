#include "device/cuda/kernel_compiler.h"

#include <cuda.h>
#include <dlfcn.h>
#include <fmt/core.h>
#include <nvrtc.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

#include "base/hash.h"
#include "base/user_cache.h"

namespace plimsoll::cuda {
namespace {

struct Nvrtc {
  decltype(&nvrtcVersion) version = nullptr;
  decltype(&nvrtcCreateProgram) create = nullptr;
  decltype(&nvrtcCompileProgram) compile = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&nvrtcGetProgramLog) log = nullptr;
  decltype(&nvrtcGetCUBINSize) code_size = nullptr;
  decltype(&nvrtcGetCUBIN) code = nullptr;
  decltype(&nvrtcDestroyProgram) destroy = nullptr;
  decltype(&nvrtcGetErrorString) text = nullptr;
};

Status load(Nvrtc& calls) {
  const std::string name = fmt::format("libnvrtc.so.{}", CUDA_VERSION / 1000);
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Error{ErrorCode::device,
                 fmt::format("kernels cannot be compiled: {}", dlerror())};
  }
  const auto find = [&](auto& call, const char* symbol) {
    call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(
        dlsym(library, symbol));
    return call != nullptr;
  };
  if (!find(calls.version, "nvrtcVersion") ||
      !find(calls.create, "nvrtcCreateProgram") ||
      !find(calls.compile, "nvrtcCompileProgram") ||
      !find(calls.log_size, "nvrtcGetProgramLogSize") ||
      !find(calls.log, "nvrtcGetProgramLog") ||
      !find(calls.code_size, "nvrtcGetCUBINSize") ||
      !find(calls.code, "nvrtcGetCUBIN") ||
      !find(calls.destroy, "nvrtcDestroyProgram") ||
      !find(calls.text, "nvrtcGetErrorString")) {
    return Error{ErrorCode::device, name + " lacks a function"};
  }
  return {};
}

Result<const Nvrtc*> nvrtc() {
  static Nvrtc calls;
  static const Status loaded = load(calls);
  if (!loaded) return loaded.error();
  return &calls;
}

// For local memory the driver would take hundreds of MiB, and keep them.
constexpr const char* kWarnOfLocalMemory =
    "--ptxas-options=--warn-on-local-memory-usage";

// Loads are brought forward until registers run out, now and then beyond that:
// a second time they are not.
constexpr const char* kLoadsStay = "--ptxas-options=-O1";

// Kept in the place of code, so that it is not made again and again.
constexpr std::string_view kRefused =
    "a generated kernel uses local memory, or too much shared memory: ";

constexpr std::string_view kLocalMemory = "Local memory";

bool is_refusal(const std::string& log) {
  return log.find(kLocalMemory) != log.npos ||
         log.find("too much shared data") != log.npos;
}

Result<std::string> code_or_refusal(std::string code) {
  if (!code.starts_with(kRefused)) return code;
  return Error{ErrorCode::unsupported, std::move(code)};
}

// The code, or why there is none.
Result<std::string> compile_with(const std::vector<const char*>& options,
                                 const std::string& source) {
  PLIMSOLL_ASSIGN(const Nvrtc* calls, nvrtc());
  nvrtcProgram program = nullptr;
  const auto failed = [&](const char* what, nvrtcResult result) {
    return Error{ErrorCode::device,
                 fmt::format("{}: {}", what, calls->text(result))};
  };
  nvrtcResult result =
      calls->create(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr);
  if (result != NVRTC_SUCCESS) return failed("nvrtcCreateProgram", result);
  result =
      calls->compile(program, static_cast<int>(options.size()), options.data());
  std::string log;
  if (std::size_t size = 0; calls->log_size(program, &size) == NVRTC_SUCCESS) {
    log.resize(size);
    calls->log(program, log.data());
  }
  if (is_refusal(log)) {
    calls->destroy(&program);
    return std::string(kRefused) + log.c_str();
  }
  if (result != NVRTC_SUCCESS) {
    calls->destroy(&program);
    return Error{ErrorCode::internal,
                 fmt::format("a generated kernel does not compile: {}", log)};
  }
  std::size_t bytes = 0;
  std::string code;
  result = calls->code_size(program, &bytes);
  if (result == NVRTC_SUCCESS) {
    code.resize(bytes);
    result = calls->code(program, code.data());
  }
  calls->destroy(&program);
  if (result != NVRTC_SUCCESS) return failed("nvrtcGetCUBIN", result);
  return code;
}

Result<std::string> compile(const std::string& source,
                            const std::string& option, int tries) {
  std::vector<const char*> options = {option.c_str(), "--std=c++17",
                                      kWarnOfLocalMemory};
  PLIMSOLL_ASSIGN(std::string code, compile_with(options, source));
  const bool out_of_registers =
      code.starts_with(kRefused) && code.find(kLocalMemory) != code.npos;
  if (!out_of_registers || tries == 1) return code;
  options.push_back(kLoadsStay);
  return compile_with(options, source);
}

// A file begins with its own hash: a damaged one is compiled again.
std::string read_cached(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t mark = hash_text(0).size();
  if (text.size() <= mark) return {};
  std::string code = text.substr(mark);
  return hash_text(stable_hash(code)) == text.substr(0, mark) ? code : "";
}

void write_cached(const std::filesystem::path& path, const std::string& code) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  const std::filesystem::path part =
      fmt::format("{}.{}", path.string(), getpid());
  {
    std::ofstream file(part, std::ios::binary);
    file << hash_text(stable_hash(code)) << code;
    if (!file.flush()) {
      std::filesystem::remove(part, ignored);
      return;
    }
  }
  std::filesystem::rename(part, path, ignored);
  if (ignored) std::filesystem::remove(part, ignored);
}

// The helper at work on one kernel; its owner waits for its end. What it made
// is then kept. Where it could not be run, or failed, nothing is.
class HelperRun {
 public:
  HelperRun(const std::string& helper, const std::string& source,
            const std::string& architecture, const std::filesystem::path& path)
      : file_(fmt::format("{}.{}.cu", path.string(), getpid())) {
    std::error_code ignored;
    std::filesystem::create_directories(path.parent_path(), ignored);
    if (!(std::ofstream(file_, std::ios::binary) << source).flush()) return;
    const char* arguments[] = {helper.c_str(), "compile-kernel", file_.c_str(),
                               architecture.c_str(), nullptr};
    if (posix_spawn(&child_, helper.c_str(), nullptr, nullptr,
                    const_cast<char* const*>(arguments), environ) != 0) {
      child_ = -1;
    }
  }
  ~HelperRun() {
    while (child_ > 0 && waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
  }
  HelperRun(const HelperRun&) = delete;
  HelperRun& operator=(const HelperRun&) = delete;

 private:
  const std::string file_;
  pid_t child_ = -1;
};

std::string option_for(const std::string& architecture) {
  return "--gpu-architecture=" + architecture;
}

// Empty where there is no cache.
std::filesystem::path path_of(const std::string& source,
                              const std::string& option, int tries = 2) {
  const std::filesystem::path folder = user_cache_folder();
  if (folder.empty()) return {};
  const std::string key =
      fmt::format("{} {} {} {} {}", CUDA_VERSION, option, kWarnOfLocalMemory,
                  tries == 1 ? "" : kLoadsStay, source);
  // Two hashes: different kernels must never meet under one name.
  return folder / "kernels" /
         fmt::format("{}{}.cubin", hash_text(stable_hash(key)),
                     hash_text(stable_hash("second " + key)));
}

}  // namespace

void forget_kernel(const std::string& source, const std::string& architecture) {
  std::error_code ignored;
  std::filesystem::remove(path_of(source, option_for(architecture)), ignored);
}

Result<std::string> compiler_version() {
  PLIMSOLL_ASSIGN(const Nvrtc* calls, nvrtc());
  int major = 0;
  int minor = 0;
  if (calls->version(&major, &minor) != NVRTC_SUCCESS) {
    return Error{ErrorCode::device, "NVRTC does not tell its version"};
  }
  return fmt::format("{}.{}", major, minor);
}

void compile_kernels_ahead(std::span<const std::string> sources,
                           const std::string& architecture,
                           const std::string& helper, int at_once) {
  if (helper.empty()) return;
  std::set<std::filesystem::path> asked;
  std::deque<HelperRun> under_way;
  for (const std::string& source : sources) {
    const std::filesystem::path path =
        path_of(source, option_for(architecture));
    if (path.empty()) return;
    std::error_code ignored;
    if (!asked.insert(path).second || std::filesystem::exists(path, ignored)) {
      continue;
    }
    if (std::ssize(under_way) >= std::max(at_once, 1)) under_way.pop_front();
    under_way.emplace_back(helper, source, architecture, path);
  }
}

Result<std::string> compile_kernel(const std::string& source,
                                   const std::string& architecture,
                                   const std::string& helper, int tries) {
  const std::string option = option_for(architecture);
  const std::filesystem::path path = path_of(source, option, tries);
  std::string code;
  if (!path.empty()) code = read_cached(path);
  if (code.empty() && !path.empty() && !helper.empty()) {
    { const HelperRun run(helper, source, architecture, path); }
    code = read_cached(path);
  }
  if (code.empty()) {
    PLIMSOLL_ASSIGN(code, compile(source, option, tries));
    if (!path.empty()) write_cached(path, code);
  }
  return code_or_refusal(std::move(code));
}

}  // namespace plimsoll::cuda
