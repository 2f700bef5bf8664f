#include "device/cuda/cudnn_pooling_grad.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "device/cuda/cudnn_layer.h"

namespace plimsoll::cuda {
namespace {

Result<CudnnDescriptor> settings_of(const AveragePoolGrad& of) {
  PLIMSOLL_ASSIGN(CudnnDescriptor made,
                  CudnnDescriptor::create(CUDNN_BACKEND_RESAMPLE_DESCRIPTOR));
  const cudnnResampleMode_t mode = CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING;
  const cudnnPaddingMode_t outside = CUDNN_ZERO_PAD;
  const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  const cudnnNanPropagation_t nan = CUDNN_PROPAGATE_NAN;
  PLIMSOLL_RETURN_IF_ERROR(
      made.set(CUDNN_ATTR_RESAMPLE_MODE, CUDNN_TYPE_RESAMPLE_MODE, 1, &mode));
  PLIMSOLL_RETURN_IF_ERROR(made.set(CUDNN_ATTR_RESAMPLE_COMP_TYPE,
                                    CUDNN_TYPE_DATA_TYPE, 1, &compute));
  PLIMSOLL_RETURN_IF_ERROR(made.set(CUDNN_ATTR_RESAMPLE_NAN_PROPAGATION,
                                    CUDNN_TYPE_NAN_PROPOGATION, 1, &nan));
  PLIMSOLL_RETURN_IF_ERROR(made.set(CUDNN_ATTR_RESAMPLE_PADDING_MODE,
                                    CUDNN_TYPE_PADDING_MODE, 1, &outside));
  PLIMSOLL_RETURN_IF_ERROR(made.set(CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, {2}));
  const auto set = [&](cudnnBackendAttributeName_t name, std::int64_t rows,
                       std::int64_t columns) {
    const cudnnFraction_t sides[] = {{rows, 1}, {columns, 1}};
    return made.set(name, CUDNN_TYPE_FRACTION, 2, sides);
  };
  const auto [top, bottom, left, right] = of.padding;
  PLIMSOLL_RETURN_IF_ERROR(
      set(CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, of.window[0], of.window[1]));
  PLIMSOLL_RETURN_IF_ERROR(
      set(CUDNN_ATTR_RESAMPLE_STRIDES, of.strides[0], of.strides[1]));
  PLIMSOLL_RETURN_IF_ERROR(set(CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, top, left));
  PLIMSOLL_RETURN_IF_ERROR(
      set(CUDNN_ATTR_RESAMPLE_POST_PADDINGS, bottom, right));
  PLIMSOLL_RETURN_IF_ERROR(made.finalize());
  return made;
}

Result<CudnnGraph> graph_of(const AveragePoolGrad& of) {
  CudnnGraph graph;
  const auto tensor = [&](const std::array<std::int64_t, 4>& shape) {
    const auto [n, h, w, c] = shape;
    return graph.operand(cudnn_type(of.dtype), channels_last(n, h, w, c));
  };
  const int dy = tensor(of.result);
  const int dx = tensor(of.images);
  PLIMSOLL_ASSIGN(const CudnnDescriptor settings, settings_of(of));
  graph.operation(CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR)
      .set(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC, dx)
      .set(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DYDESC, dy)
      .set(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC, settings)
      .add();
  return graph;
}

}  // namespace

Result<CudnnPlan> choose_cudnn_pooling_grad(cudnnHandle_t handle,
                                            const AveragePoolGrad& of) {
  const auto named = [&](Error error) {
    error.message += fmt::format(
        " (average pooling, backward, {} of [{}], window [{}], strides [{}])",
        name_of(of.dtype), fmt::join(of.images, ", "),
        fmt::join(of.window, ", "), fmt::join(of.strides, ", "));
    return error;
  };
  auto graph = graph_of(of);
  if (!graph) return named(std::move(graph).error());
  auto plan = CudnnPlan::choose(
      handle, *std::move(graph),
      {.compiled = true, .workspace_bytes = of.workspace_bytes});
  if (!plan) return named(std::move(plan).error());
  return plan;
}

std::unique_ptr<CudaWork> make_cudnn_pooling_grad(
    std::shared_ptr<const CudnnPlan> plan) {
  return make_cudnn_layer({{Operand::Of::input, 0}, {Operand::Of::output, 0}},
                          std::move(plan));
}

}  // namespace plimsoll::cuda
