#include "device/cuda/widened_convolution.h"

#include <fmt/core.h>

#include <algorithm>

#include "device/cuda/operand_address.h"

namespace plimsoll::cuda {
namespace {

constexpr std::int64_t kMostBlocks = 264;

std::int64_t weights_of(const Convolution& convolution) {
  const auto& [o, h, w, c] = convolution.w;
  return o * h * w * c;
}

std::string widening_source(DType dtype, std::int64_t elements) {
  return fmt::format(
      R"(extern "C" __global__ void run(const unsigned short* from, float* to) {{
  for (long long i = blockIdx.x * {0} + threadIdx.x; i < {1}LL;
       i += gridDim.x * {0}) {{
    float value;
    {2}
    to[i] = value;
  }}
}}
)",
      kBlockThreads, elements,
      dtype == DType::bf16
          ? "value = __uint_as_float((unsigned)from[i] << 16);"
          : R"(asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(from[i]));)");
}

class WidenedConvolution final : public CudaWork {
 public:
  WidenedConvolution(const Convolution& convolution,
                     std::unique_ptr<CudaWork> rounded, CudaKernel* widen)
      : convolution_(convolution),
        rounded_(std::move(rounded)),
        widen_(widen),
        blocks_(static_cast<int>(std::min(
            kMostBlocks,
            (weights_of(convolution) + kBlockThreads - 1) / kBlockThreads))) {}

  Status launch(Stream& stream, const void* const* inputs, void* const* outputs,
                void* scratch) override {
    PLIMSOLL_RETURN_IF_ERROR(
        rounded_->launch(stream, inputs, outputs, scratch));
    void* const pointers[] = {
        static_cast<std::byte*>(scratch) + convolution_.rounded_offset_bytes,
        address_of(convolution_.w_at, inputs, outputs, scratch)};
    return widen_->launch(stream, blocks_, pointers);
  }

  std::string algorithm() const override {
    return rounded_->algorithm() + ", rounded";
  }

 private:
  const Convolution convolution_;
  const std::unique_ptr<CudaWork> rounded_;
  CudaKernel* const widen_;
  const int blocks_;
};

}  // namespace

Result<std::unique_ptr<CudaWork>> make_widened_convolution(
    CudnnWork& library, const Convolution& convolution,
    const KernelLoader& load) {
  Convolution narrow = convolution;
  narrow.output = narrow.dtype;
  narrow.w_at = {Operand::Of::scratch, 0, convolution.rounded_offset_bytes};
  PLIMSOLL_ASSIGN(auto rounded, library.prepare(narrow));
  PLIMSOLL_ASSIGN(
      CudaKernel* const widen,
      load(widening_source(convolution.dtype, weights_of(convolution))));
  return std::unique_ptr<CudaWork>(std::make_unique<WidenedConvolution>(
      convolution, std::move(rounded), widen));
}

}  // namespace plimsoll::cuda
