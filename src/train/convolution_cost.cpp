#include "train/convolution_cost.h"

#include "ops/convolution/conv_shape.h"
#include "ops/cuda_kernels.h"
#include "ops/registry.h"
#include "train/precision.h"

namespace plimsoll::train {
namespace {

constexpr std::int64_t kBatch = 8;

struct Layer {
  std::int64_t size, channels, filters, kernel, stride;
};
constexpr Layer kLayers[] = {
    {224, 3, 64, 7, 2},    {56, 64, 64, 1, 1},   {56, 256, 64, 1, 1},
    {56, 64, 64, 3, 1},    {56, 64, 256, 1, 1},  {56, 128, 128, 3, 2},
    {28, 512, 128, 1, 1},  {28, 128, 128, 3, 1}, {56, 256, 512, 1, 2},
    {14, 256, 1024, 1, 1}, {14, 256, 256, 3, 1}, {7, 512, 512, 3, 1},
};

// Forward and both gradients of a layer.
Status add_layer(const Layer& layer, DType precision,
                 const ops::CudaCatalog& catalog,
                 std::vector<cuda::Stage>& work) {
  ops::Conv2dSettings settings;
  settings.strides = {layer.stride, layer.stride};
  settings = ops::same_padding(settings, layer.size, layer.size, layer.kernel,
                               layer.kernel);
  const std::int64_t out =
      ops::conv_extent(settings, 0, layer.size, layer.kernel);
  const graph::TensorType x{precision,
                            {kBatch, layer.size, layer.size, layer.channels}};
  const graph::TensorType w{
      precision, {layer.filters, layer.kernel, layer.kernel, layer.channels}};
  const graph::TensorType y{precision, {kBatch, out, out, layer.filters}};
  graph::Attrs attrs = ops::attrs_of(settings);
  attrs.set("input_shape", x.shape);
  attrs.set("kernel_shape", w.shape);
  const auto add = [&](const char* op,
                       const std::vector<graph::TensorType>& inputs,
                       const graph::TensorType& output) -> Status {
    PLIMSOLL_ASSIGN(
        const cuda::OpCode code,
        catalog.code({ops::find_op(op), inputs, {&output, 1}, &attrs}));
    for (const cuda::Stage& stage : code.stages) {
      if (std::holds_alternative<cuda::Convolution>(stage)) {
        work.push_back(stage);
      }
    }
    return {};
  };
  PLIMSOLL_RETURN_IF_ERROR(add("conv2d", {x, w}, y));
  PLIMSOLL_RETURN_IF_ERROR(add("conv2d_data_grad", {y, w}, x));
  // As training wants it: sums of halves in f32.
  return add("conv2d_weight_grad", {y, x}, {master_dtype(precision), w.shape});
}

}  // namespace

Result<LibraryCost> measure_convolutions(CudaDevice& device, DeviceMeter& meter,
                                         DType precision, bool tf32) {
  const ops::CudaCatalog catalog(device.profile(), {tf32});
  std::vector<cuda::Stage> work;
  for (const Layer& layer : kLayers) {
    PLIMSOLL_RETURN_IF_ERROR(add_layer(layer, precision, catalog, work));
  }
  PLIMSOLL_ASSIGN(work, library_work_from_text(to_text(work)));
  return measure_library_work(device, meter, work);
}

}  // namespace plimsoll::train
