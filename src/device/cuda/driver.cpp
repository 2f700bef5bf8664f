#include "device/cuda/driver.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <atomic>
#include <cstdint>

#include "device/cuda_environment.h"

namespace plimsoll::cuda {
namespace {

Driver the_driver;
std::atomic<CUcontext> the_context = nullptr;
std::atomic<std::uint64_t> context_number = 0;

#define PLIMSOLL_TEXT_OF(text) #text
#define PLIMSOLL_TEXT(name) PLIMSOLL_TEXT_OF(name)

Status load(Driver::Calls& calls) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Error{ErrorCode::device,
                 fmt::format("no NVIDIA driver: {}", dlerror())};
  }
#define PLIMSOLL_LOAD(name)                                                   \
  calls.p_##name = reinterpret_cast<decltype(calls.p_##name)>(                \
      dlsym(library, PLIMSOLL_TEXT(name)));                                   \
  if (calls.p_##name == nullptr) {                                            \
    return Error{ErrorCode::device,                                           \
                 fmt::format("the NVIDIA driver is too old: it has no {}; a " \
                             "driver for CUDA {}.{} is needed",               \
                             PLIMSOLL_TEXT(name), CUDA_VERSION / 1000,        \
                             CUDA_VERSION % 1000 / 10)};                      \
  }
  PLIMSOLL_DRIVER_CALLS(PLIMSOLL_LOAD)
#undef PLIMSOLL_LOAD
  return {};
}

Status start() {
  PLIMSOLL_RETURN_IF_ERROR(load(the_driver.calls));
  prepare_cuda_environment();
  return PLIMSOLL_CUDA(cuInit, 0);
}

}  // namespace

Result<const Driver*> Driver::open() {
  static const Status started = start();
  if (!started) return started.error();
  return &the_driver;
}

Error Driver::error(const char* call, CUresult result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (calls.p_cuGetErrorName == nullptr ||
      calls.p_cuGetErrorName(result, &name) != CUDA_SUCCESS ||
      calls.p_cuGetErrorString(result, &text) != CUDA_SUCCESS) {
    return {ErrorCode::device,
            fmt::format("{}: error {}", call, static_cast<int>(result))};
  }
  const auto code = result == CUDA_ERROR_OUT_OF_MEMORY ? ErrorCode::over_budget
                                                       : ErrorCode::device;
  return {code, fmt::format("{}: {}: {}", call, name, text)};
}

const Driver& driver() { return the_driver; }

void set_context(CUcontext context) {
  the_context = context;
  ++context_number;
}

void enter_context() {
  // By number: a new context may have the address of one that is gone.
  thread_local std::uint64_t entered = 0;
  const std::uint64_t number = context_number;
  if (entered == number) return;
  entered = number;
  // An error shows in the call that follows.
  static_cast<void>(the_driver.calls.p_cuCtxSetCurrent(the_context));
}

}  // namespace plimsoll::cuda
