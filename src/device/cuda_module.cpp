#include <dlfcn.h>
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
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
  std::error_code none;
  for (const fs::path& module : places()) {
    if (!fs::exists(module, none)) continue;
    const fs::path folder = module.parent_path();
    for (const fs::path& path :
         {folder / "plimsoll",
          fs::path(PLIMSOLL_INSTALL_PREFIX) / "bin/plimsoll"}) {
      if (fs::is_regular_file(path, none)) return path.string();
    }
  }
  return {};
}

}  // namespace plimsoll
