#include "train/convolution_cost.h"

#include <unistd.h>

#include <algorithm>

#include "base/units.h"
#include "device/cpu/process_memory.h"
#include "ops/convolution/conv_shape.h"
#include "ops/cuda_kernels.h"
#include "ops/registry.h"
#include "train/precision.h"

namespace plimsoll::train {
namespace {

constexpr std::int64_t kBatch = 8;
constexpr std::int64_t kMemoryBytes = 256 * kMiB;
constexpr std::int64_t kAlignment = 256;

struct Layer {
  std::int64_t size, channels, filters, kernel, stride;
};
constexpr Layer kLayers[] = {
    {224, 3, 64, 7, 2},    {56, 64, 64, 1, 1},   {56, 256, 64, 1, 1},
    {56, 64, 64, 3, 1},    {56, 64, 256, 1, 1},  {56, 128, 128, 3, 2},
    {28, 512, 128, 1, 1},  {28, 128, 128, 3, 1}, {56, 256, 512, 1, 2},
    {14, 256, 1024, 1, 1}, {14, 256, 256, 3, 1}, {7, 512, 512, 3, 1},
};

class Rehearsed {
 public:
  Rehearsed(CudaDevice& device, Stream& stream, std::byte* memory,
            DType precision, bool tf32)
      : device_(device),
        stream_(stream),
        memory_(memory),
        catalog_(device.profile(), {tf32}),
        precision_(precision) {}

  Status run(const Layer& layer) {
    ops::Conv2dSettings settings;
    settings.strides = {layer.stride, layer.stride};
    settings = ops::same_padding(settings, layer.size, layer.size, layer.kernel,
                                 layer.kernel);
    const std::int64_t out =
        ops::conv_extent(settings, 0, layer.size, layer.kernel);
    const graph::TensorType x{precision_,
                              {kBatch, layer.size, layer.size, layer.channels}};
    const graph::TensorType w{
        precision_,
        {layer.filters, layer.kernel, layer.kernel, layer.channels}};
    const graph::TensorType y{precision_, {kBatch, out, out, layer.filters}};
    graph::Attrs attrs = ops::attrs_of(settings);
    attrs.set("input_shape", x.shape);
    attrs.set("kernel_shape", w.shape);
    PLIMSOLL_RETURN_IF_ERROR(run("conv2d", {x, w}, y, attrs));
    PLIMSOLL_RETURN_IF_ERROR(run("conv2d_data_grad", {y, w}, x, attrs));
    // As training wants it: sums of halves in f32.
    const graph::TensorType dw{master_dtype(precision_), w.shape};
    return run("conv2d_weight_grad", {y, x}, dw, attrs);
  }

 private:
  Status run(const char* op, const std::vector<graph::TensorType>& inputs,
             const graph::TensorType& output, const graph::Attrs& attrs) {
    PLIMSOLL_ASSIGN(
        const cuda::OpCode code,
        catalog_.code({ops::find_op(op), inputs, {&output, 1}, &attrs}));
    std::byte* next = memory_;
    const auto take = [&](std::int64_t bytes) {
      std::byte* const start = next;
      next += round_up(bytes, kAlignment);
      return start;
    };
    const void* const from[] = {take(inputs[0].bytes()),
                                take(inputs[1].bytes())};
    void* const to[] = {take(output.bytes())};
    std::byte* const scratch = take(code.scratch_bytes);
    if (next - memory_ > kMemoryBytes) return {};
    for (const cuda::Stage& stage : code.stages) {
      if (!std::holds_alternative<cuda::Convolution>(stage)) continue;
      PLIMSOLL_ASSIGN(const auto work, device_.prepare(stage));
      PLIMSOLL_RETURN_IF_ERROR(work->launch(stream_, from, to, scratch));
      PLIMSOLL_RETURN_IF_ERROR(stream_.synchronize());
    }
    return {};
  }

  CudaDevice& device_;
  Stream& stream_;
  std::byte* memory_;
  ops::CudaCatalog catalog_;
  DType precision_;
};

}  // namespace

Result<ConvolutionCost> measure_convolutions(CudaDevice& device,
                                             DeviceMeter& meter,
                                             DType precision, bool tf32) {
  PLIMSOLL_ASSIGN(const auto stream, device.make_stream());
  void* const memory = device.memory().map(kMemoryBytes);
  if (memory == nullptr) {
    return Error{ErrorCode::over_budget,
                 "no 256 MiB to measure convolutions with"};
  }
  const auto measured = [&]() -> Result<ConvolutionCost> {
    PLIMSOLL_RETURN_IF_ERROR(stream->clear(memory, kMemoryBytes));
    PLIMSOLL_RETURN_IF_ERROR(stream->synchronize());
    PLIMSOLL_ASSIGN(const ProcessMemory before, read_process_memory(getpid()));
    const std::int64_t held = meter.read();
    Rehearsed rehearsed(device, *stream, static_cast<std::byte*>(memory),
                        precision, tf32);
    for (const Layer& layer : kLayers) {
      PLIMSOLL_RETURN_IF_ERROR(rehearsed.run(layer));
    }
    PLIMSOLL_ASSIGN(const ProcessMemory after, read_process_memory(getpid()));
    return ConvolutionCost{
        std::max<std::int64_t>(after.resident_bytes() - before.resident_bytes(),
                               0),
        std::max<std::int64_t>(meter.read() - held, 0)};
  }();
  device.memory().unmap(memory, kMemoryBytes);
  return measured;
}

}  // namespace plimsoll::train
