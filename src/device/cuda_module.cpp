#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <vector>

#include "device/cuda_device.h"
#include "device/cuda_module_symbols.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// Beside the program (a build), or where the package puts it.
std::vector<fs::path> places() {
  if (const char* file = std::getenv("PLIMSOLL_CUDA_MODULE"); file && *file) {
    return {file};
  }
  std::vector<fs::path> paths;
  std::error_code none;
  const fs::path program = fs::read_symlink("/proc/self/exe", none);
  if (!none) {
    paths.push_back(program.parent_path() / kCudaModuleFile);
    paths.push_back(program.parent_path() / ".." / PLIMSOLL_MODULE_FOLDER /
                    kCudaModuleFile);
  }
  paths.push_back(fs::path(PLIMSOLL_INSTALL_PREFIX) / PLIMSOLL_MODULE_FOLDER /
                  kCudaModuleFile);
  return paths;
}

// The first that is there; empty: none.
fs::path module_file() {
  for (const fs::path& path : places()) {
    std::error_code none;
    if (fs::exists(path, none)) return path;
  }
  return {};
}

// The first folder of the linker's that has a file of this name, and what it
// has; the linker's own cache is not read, its folders are.
std::vector<std::string> library_files(const std::string& start) {
  std::vector<fs::path> folders;
  const char* said = std::getenv("LD_LIBRARY_PATH");
  std::istringstream words(said ? said : "");
  for (std::string word; std::getline(words, word, ':');) {
    if (!word.empty()) folders.push_back(word);
  }
  folders.insert(folders.end(),
                 {PLIMSOLL_CUDA_FOLDER, "/usr/local/cuda/lib64",
                  "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"});
  for (const fs::path& folder : folders) {
    std::error_code none;
    std::set<std::string> files;
    for (const auto& entry : fs::directory_iterator(folder, none)) {
      if (!entry.path().filename().string().starts_with(start)) continue;
      const fs::path file = fs::canonical(entry.path(), none);
      if (!none) files.insert(file.string());
    }
    if (!files.empty()) return {files.begin(), files.end()};
  }
  return {};
}

Result<CudaModule*> open_at(const fs::path& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Error{
        ErrorCode::device,
        fmt::format("the CUDA module cannot be opened: {}", dlerror())};
  }
  const auto door =
      reinterpret_cast<CudaModuleFunction>(dlsym(library, kCudaModuleSymbol));
  CudaModule* const module = door ? door(PLIMSOLL_BUILD_ID) : nullptr;
  if (module == nullptr) {
    return Error{
        ErrorCode::device,
        fmt::format("{} belongs to another build of Plimsoll", path.string())};
  }
  return module;
}

Result<CudaModule*> open_first() {
  std::string looked;
  for (const fs::path& path : places()) {
    std::error_code none;
    if (fs::exists(path, none)) return open_at(path);
    looked += (looked.empty() ? "" : ", ") + path.string();
  }
  return Error{ErrorCode::device,
               fmt::format("this Plimsoll has no CUDA module: {} is not there "
                           "(looked for {}); build it where the CUDA toolkit "
                           "is installed",
                           kCudaModuleFile, looked)};
}

}  // namespace

Result<CudaModule*> open_cuda_module() {
  // Never closed: CUDA's libraries do not go away cleanly.
  static const Result<CudaModule*> module = open_first();
  return module;
}

std::string module_program() {
  const fs::path module = module_file();
  if (module.empty()) return {};
  for (const fs::path& path :
       {module.parent_path() / "plimsoll",
        fs::path(PLIMSOLL_INSTALL_PREFIX) / "bin/plimsoll"}) {
    std::error_code none;
    if (fs::is_regular_file(path, none)) return path.string();
  }
  return {};
}

std::vector<std::string> cuda_module_files() {
  const fs::path module = module_file();
  if (module.empty()) return {};
  std::vector<std::string> files = {module.string()};
  for (const char* library :
       {"libcublasLt.so.", "libcudnn.so.", "libnvrtc.so."}) {
    for (std::string& file : library_files(library)) {
      files.push_back(std::move(file));
    }
  }
  return files;
}

}  // namespace plimsoll
