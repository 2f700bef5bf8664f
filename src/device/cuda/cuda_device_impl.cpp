#include "device/cuda/cuda_device_impl.h"

#include <fmt/core.h>

#include <mutex>

#include "base/hash.h"
#include "device/cuda/cublaslt_product.h"
#include "device/cuda/cuda_recording.h"
#include "device/cuda/cuda_stream.h"
#include "device/cuda/driver.h"
#include "device/cuda/kernel_compiler.h"

namespace plimsoll::cuda {
namespace {

constexpr std::uint64_t kSecondSeed = 0x9e3779b97f4a7c15;

// All calls are made in one context: a process drives one device.
struct Driven {
  std::mutex mutex;
  int ordinal = -1;
  int times = 0;  // that it is open
};
Driven driven;

Status drive(int ordinal) {
  const std::lock_guard lock(driven.mutex);
  if (driven.times > 0 && driven.ordinal != ordinal) {
    return Error{ErrorCode::bad_input,
                 fmt::format("cuda:{}: this process has cuda:{} open, and one "
                             "process drives one device",
                             ordinal, driven.ordinal)};
  }
  driven.ordinal = ordinal;
  ++driven.times;
  return {};
}

void leave_device() {
  const std::lock_guard lock(driven.mutex);
  --driven.times;
}

}  // namespace

Result<std::unique_ptr<CudaDevice>> CudaDeviceImpl::open(
    int ordinal, const std::string& compiler) {
  auto device = std::make_unique<CudaDeviceImpl>();
  device->compiler_ = compiler;
  PLIMSOLL_RETURN_IF_ERROR(device->start(ordinal));
  return std::unique_ptr<CudaDevice>(std::move(device));
}

Status CudaDeviceImpl::start(int ordinal) {
  PLIMSOLL_RETURN_IF_ERROR(Driver::open());
  int count = 0;
  PLIMSOLL_RETURN_IF_ERROR(PLIMSOLL_CUDA(cuDeviceGetCount, &count));
  if (ordinal < 0 || ordinal >= count) {
    return Error{ErrorCode::bad_input,
                 fmt::format("cuda:{}: the driver shows {} device{}", ordinal,
                             count, count == 1 ? "" : "s")};
  }
  name_ = fmt::format("cuda:{}", ordinal);
  PLIMSOLL_RETURN_IF_ERROR(PLIMSOLL_CUDA(cuDeviceGet, &device_, ordinal));
  PLIMSOLL_RETURN_IF_ERROR(drive(ordinal));
  driven_ = true;
  PLIMSOLL_RETURN_IF_ERROR(
      PLIMSOLL_CUDA(cuDevicePrimaryCtxRetain, &context_, device_));
  set_context(context_);
  constexpr std::size_t kSmallest = 4096;
  PLIMSOLL_RETURN_IF_ERROR(
      PLIMSOLL_CUDA(cuCtxSetLimit, CU_LIMIT_STACK_SIZE, 256));
  for (const CUlimit limit :
       {CU_LIMIT_PRINTF_FIFO_SIZE, CU_LIMIT_MALLOC_HEAP_SIZE}) {
    PLIMSOLL_RETURN_IF_ERROR(PLIMSOLL_CUDA(cuCtxSetLimit, limit, kSmallest));
  }
  PLIMSOLL_ASSIGN(memory_, CudaMemorySource::create(device_));
  return read_profile();
}

CudaDeviceImpl::~CudaDeviceImpl() {
  if (context_ != nullptr) {
    enter_context();
    kernels_.clear();
    if (products_ != nullptr) cublasLtDestroy(products_);
    layers_.reset();
    memory_.reset();
    static_cast<void>(PLIMSOLL_CUDA(cuDevicePrimaryCtxRelease, device_));
  }
  if (driven_) leave_device();
}

Status CudaDeviceImpl::read_profile() {
  char text[256] = {};
  PLIMSOLL_RETURN_IF_ERROR(
      PLIMSOLL_CUDA(cuDeviceGetName, text, sizeof(text) - 1, device_));
  profile_.name = text;
  profile_.kind = "cuda";
  int major = 0;
  int minor = 0;
  PLIMSOLL_RETURN_IF_ERROR(
      PLIMSOLL_CUDA(cuDeviceGetAttribute, &major,
                    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device_));
  PLIMSOLL_RETURN_IF_ERROR(
      PLIMSOLL_CUDA(cuDeviceGetAttribute, &minor,
                    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device_));
  profile_.instruction_set = fmt::format("sm_{}{}", major, minor);
  int version = 0;
  PLIMSOLL_RETURN_IF_ERROR(PLIMSOLL_CUDA(cuDriverGetVersion, &version));
  profile_.library_versions = {
      {"cublaslt", cublaslt_version()},
      {"cuda",
       fmt::format("{}.{}", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10)},
      {"driver", fmt::format("{}.{}", version / 1000, version % 1000 / 10)}};
  profile_.alignment_bytes = 256;
  profile_.granularity_bytes = memory_->granularity_bytes();
  return {};
}

Result<std::unique_ptr<Stream>> CudaDeviceImpl::make_stream() {
  return CudaStream::create();
}

Result<std::unique_ptr<Event>> CudaDeviceImpl::make_event() {
  return CudaEvent::create();
}

Result<std::unique_ptr<GeneratedKernel>> CudaDeviceImpl::compile_and_load(
    const std::string& source) const {
  PLIMSOLL_ASSIGN(const std::string code,
                  compile_kernel(source, profile_.instruction_set, compiler_));
  return GeneratedKernel::load(code);
}

Result<std::unique_ptr<GeneratedKernel>> CudaDeviceImpl::make_kernel(
    const std::string& source) const {
  auto loaded = compile_and_load(source);
  if (loaded || loaded.error().code != ErrorCode::device) return loaded;
  // What was kept may be of another driver's time.
  forget_kernel(source, profile_.instruction_set);
  return compile_and_load(source);
}

Result<CudaKernel*> CudaDeviceImpl::load(const std::string& source) {
  const std::pair key{stable_hash(source), stable_hash(source, kSecondSeed)};
  auto found = kernels_.find(key);
  if (found == kernels_.end()) {
    PLIMSOLL_ASSIGN(auto kernel, make_kernel(source));
    found = kernels_.emplace(key, std::move(kernel)).first;
  }
  return static_cast<CudaKernel*>(found->second.get());
}

Result<std::unique_ptr<CudaKernel>> CudaDeviceImpl::load_own(
    const std::string& source) {
  PLIMSOLL_ASSIGN(auto kernel, make_kernel(source));
  return std::unique_ptr<CudaKernel>(std::move(kernel));
}

void CudaDeviceImpl::compile_ahead(std::span<const std::string> sources,
                                   int at_once) {
  compile_kernels_ahead(sources, profile_.instruction_set, compiler_, at_once);
}

Result<std::unique_ptr<CudaWork>> CudaDeviceImpl::prepare(const Stage& stage) {
  enter_context();
  if (const auto* product = std::get_if<Product>(&stage)) {
    if (products_ == nullptr) {
      PLIMSOLL_RETURN_IF_ERROR(
          check("cublasLtCreate", cublasLtCreate(&products_)));
    }
    return make_cublaslt_product(products_, *product);
  }
  if (layers_ == nullptr) {
    PLIMSOLL_ASSIGN(layers_, CudnnWork::open());
  }
  if (const auto* attention = std::get_if<Attention>(&stage)) {
    return layers_->prepare(*attention);
  }
  if (const auto* normalization = std::get_if<Normalization>(&stage)) {
    return layers_->prepare(*normalization);
  }
  if (const auto* pooling = std::get_if<AveragePoolGrad>(&stage)) {
    return layers_->prepare(*pooling);
  }
  return layers_->prepare(std::get<Convolution>(stage));
}

Result<std::unique_ptr<CudaRecording>> CudaDeviceImpl::record(
    Stream& stream, const std::function<Status()>& work) {
  return record_graph(stream, work);
}

Status CudaDeviceImpl::pin(void* start, std::int64_t bytes) {
  return PLIMSOLL_CUDA(
      cuMemHostRegister, start, static_cast<std::size_t>(bytes),
      CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
}

void CudaDeviceImpl::unpin(void* start) noexcept {
  static_cast<void>(PLIMSOLL_CUDA(cuMemHostUnregister, start));
}

Result<void*> CudaDeviceImpl::seen_from_device(void* pinned) {
  CUdeviceptr address = 0;
  PLIMSOLL_RETURN_IF_ERROR(
      PLIMSOLL_CUDA(cuMemHostGetDevicePointer, &address, pinned, 0));
  return reinterpret_cast<void*>(address);
}

}  // namespace plimsoll::cuda
