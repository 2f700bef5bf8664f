#include "device/cuda/cudnn_convolution.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "device/cuda/cudnn_plan.h"
#include "device/cuda/operand_address.h"

namespace plimsoll::cuda {
namespace {

using Kind = Convolution::Kind;

Result<CudnnDescriptor> settings_of(const Convolution& of) {
  PLIMSOLL_ASSIGN(
      CudnnDescriptor made,
      CudnnDescriptor::create(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
  const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  const auto [top, bottom, left, right] = of.padding;
  PLIMSOLL_RETURN_IF_ERROR(made.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE,
                                    CUDNN_TYPE_DATA_TYPE, 1, &compute));
  PLIMSOLL_RETURN_IF_ERROR(made.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE,
                                    CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode));
  PLIMSOLL_RETURN_IF_ERROR(made.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2}));
  PLIMSOLL_RETURN_IF_ERROR(
      made.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {top, left}));
  PLIMSOLL_RETURN_IF_ERROR(
      made.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {bottom, right}));
  PLIMSOLL_RETURN_IF_ERROR(made.set(CUDNN_ATTR_CONVOLUTION_DILATIONS,
                                    {of.dilations[0], of.dilations[1]}));
  PLIMSOLL_RETURN_IF_ERROR(made.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
                                    {of.strides[0], of.strides[1]}));
  PLIMSOLL_RETURN_IF_ERROR(made.finalize());
  return made;
}

struct Names {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t x, w, y, settings, alpha, beta;
};

Names names_of(Kind kind) {
  switch (kind) {
    case Kind::data_grad:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case Kind::weight_grad:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  }
}

Result<CudnnGraph> graph_of(const Convolution& of) {
  const Names names = names_of(of.kind);
  CudnnGraph graph;
  const auto tensor = [&](const std::array<std::int64_t, 4>& shape) {
    const auto [n, h, w, c] = shape;
    return graph.operand(cudnn_type(of.dtype), channels_last(n, h, w, c));
  };
  const int x = tensor(of.x);
  const int w = tensor(of.w);
  const int y = tensor(of.y);
  PLIMSOLL_ASSIGN(const CudnnDescriptor settings, settings_of(of));
  const float one = 1;
  const float zero = 0;
  graph.operation(names.operation)
      .set(names.x, x)
      .set(names.w, w)
      .set(names.y, y)
      .set(names.settings, settings)
      .set(names.alpha, CUDNN_TYPE_FLOAT, &one)
      .set(names.beta, CUDNN_TYPE_FLOAT, &zero)
      .add();
  return graph;
}

class CudnnConvolution final : public CudaWork {
 public:
  CudnnConvolution(const Convolution& convolution, CudnnPlan plan)
      : convolution_(convolution), plan_(std::move(plan)) {}

  Status launch(Stream& stream, const void* const* inputs, void* const* outputs,
                void* scratch) override {
    const auto at = [&](const Operand& operand) -> void* {
      return address_of(operand, inputs, outputs, scratch);
    };
    void* const pointers[] = {at(convolution_.x_at), at(convolution_.w_at),
                              at(convolution_.y_at)};
    return plan_.launch(
        stream, pointers,
        static_cast<std::byte*>(scratch) + convolution_.workspace_offset_bytes);
  }

  std::string algorithm() const override { return plan_.engine(); }

 private:
  Convolution convolution_;
  CudnnPlan plan_;
};

}  // namespace

Result<std::unique_ptr<CudaWork>> make_cudnn_convolution(
    cudnnHandle_t handle, const Convolution& convolution) {
  const auto named = [&](Error error) {
    constexpr const char* kKinds[] = {"forward", "data gradient",
                                      "weight gradient"};
    error.message += fmt::format(
        " (convolution, {}, {}, of [{}] by [{}] to [{}])",
        kKinds[static_cast<std::size_t>(convolution.kind)],
        name_of(convolution.dtype), fmt::join(convolution.x, ", "),
        fmt::join(convolution.w, ", "), fmt::join(convolution.y, ", "));
    return error;
  };
  auto graph = graph_of(convolution);
  if (!graph) return named(std::move(graph).error());
  const bool full = convolution.dtype == DType::f32 && !convolution.tf32;
  auto plan = CudnnPlan::choose(
      handle, *std::move(graph),
      {.full_precision = full, .workspace_bytes = convolution.workspace_bytes});
  if (!plan) return named(std::move(plan).error());
  return std::unique_ptr<CudaWork>(
      std::make_unique<CudnnConvolution>(convolution, *std::move(plan)));
}

}  // namespace plimsoll::cuda
