// The module's door: see device/cuda_device.h.
#include "device/cuda/cuda_device_impl.h"
#include "device/cuda/cudnn_work.h"
#include "device/cuda/kernel_compiler.h"
#include "device/cuda_module_symbols.h"

namespace plimsoll::cuda {
namespace {

class Module final : public CudaModule {
 public:
  Result<std::string> compile(const std::string& source,
                              const std::string& architecture,
                              int tries) override {
    return compile_kernel(source, architecture, {}, tries);
  }
  Result<std::string> compiler_version() override {
    return plimsoll::cuda::compiler_version();
  }
  Result<std::string> layer_library_version() override {
    return cudnn_version();
  }
  Result<std::unique_ptr<CudaDevice>> open(
      int ordinal, const std::string& compiler) override {
    return CudaDeviceImpl::open(ordinal, compiler);
  }
};

}  // namespace
}  // namespace plimsoll::cuda

extern "C" __attribute__((visibility("default"))) plimsoll::CudaModule*
plimsoll_cuda_module(const char* build) {
  static plimsoll::cuda::Module module;
  return std::string_view(build) == PLIMSOLL_BUILD_ID ? &module : nullptr;
}
