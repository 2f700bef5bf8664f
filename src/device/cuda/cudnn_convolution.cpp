#include "device/cuda/cudnn_convolution.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "device/cuda/cudnn_plan.h"
#include "device/cuda/operand_address.h"

namespace plimsoll::cuda {
namespace {

using Kind = Convolution::Kind;

// Of the graph's tensors; pointers come in this order.
enum : std::int64_t { kX, kW, kY };

cudnnDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return CUDNN_DATA_BFLOAT16;
    case DType::f16:
      return CUDNN_DATA_HALF;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

// The library names dimensions as [N, C, H, W], wherever they lie.
Result<CudnnDescriptor> tensor(std::int64_t number, DType dtype,
                               const std::array<std::int64_t, 4>& shape) {
  const auto [n, h, w, c] = shape;
  // Every buffer of a plan begins at such a multiple.
  constexpr std::int64_t kAlignment = 16;
  const cudnnDataType_t type = data_type(dtype);
  PLIMSOLL_ASSIGN(CudnnDescriptor made,
                  CudnnDescriptor::create(CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  PLIMSOLL_RETURN_IF_ERROR(
      made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type));
  PLIMSOLL_RETURN_IF_ERROR(
      made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, {n, c, h, w}));
  PLIMSOLL_RETURN_IF_ERROR(
      made.set(CUDNN_ATTR_TENSOR_STRIDES, {h * w * c, 1, w * c, c}));
  PLIMSOLL_RETURN_IF_ERROR(made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, {number}));
  PLIMSOLL_RETURN_IF_ERROR(
      made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {kAlignment}));
  PLIMSOLL_RETURN_IF_ERROR(made.finalize());
  return made;
}

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

// The library keeps what of the parts it needs.
Result<CudnnDescriptor> operation_of(const Convolution& of) {
  const Names names = names_of(of.kind);
  const auto type = [&](Kind writer) {
    return of.kind == writer ? of.output : of.dtype;
  };
  PLIMSOLL_ASSIGN(const CudnnDescriptor x,
                  tensor(kX, type(Kind::data_grad), of.x));
  PLIMSOLL_ASSIGN(const CudnnDescriptor w,
                  tensor(kW, type(Kind::weight_grad), of.w));
  PLIMSOLL_ASSIGN(const CudnnDescriptor y,
                  tensor(kY, type(Kind::forward), of.y));
  PLIMSOLL_ASSIGN(const CudnnDescriptor settings, settings_of(of));
  PLIMSOLL_ASSIGN(CudnnDescriptor made,
                  CudnnDescriptor::create(names.operation));
  PLIMSOLL_RETURN_IF_ERROR(made.set(names.x, x));
  PLIMSOLL_RETURN_IF_ERROR(made.set(names.w, w));
  PLIMSOLL_RETURN_IF_ERROR(made.set(names.y, y));
  PLIMSOLL_RETURN_IF_ERROR(made.set(names.settings, settings));
  const float one = 1;
  const float zero = 0;
  PLIMSOLL_RETURN_IF_ERROR(made.set(names.alpha, CUDNN_TYPE_FLOAT, 1, &one));
  PLIMSOLL_RETURN_IF_ERROR(made.set(names.beta, CUDNN_TYPE_FLOAT, 1, &zero));
  PLIMSOLL_RETURN_IF_ERROR(made.finalize());
  return made;
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

Result<CudnnHandle> open_cudnn() {
  PLIMSOLL_ASSIGN(const CudnnCalls* const calls, load_cudnn());
  cudnnHandle_t handle = nullptr;
  PLIMSOLL_RETURN_IF_ERROR(check("cudnnCreate", calls->p_cudnnCreate(&handle)));
  return handle;
}

void close_cudnn(CudnnHandle handle) {
  if (handle != nullptr) cudnn().p_cudnnDestroy(handle);
}

Result<std::unique_ptr<CudaWork>> make_cudnn_convolution(
    CudnnHandle handle, const Convolution& convolution) {
  const auto named = [&](Error error) {
    constexpr const char* kKinds[] = {"forward", "data gradient",
                                      "weight gradient"};
    error.message += fmt::format(
        " (convolution, {}, {} to {}, of [{}] by [{}] to [{}])",
        kKinds[static_cast<std::size_t>(convolution.kind)],
        name_of(convolution.dtype), name_of(convolution.output),
        fmt::join(convolution.x, ", "), fmt::join(convolution.w, ", "),
        fmt::join(convolution.y, ", "));
    return error;
  };
  auto operation = operation_of(convolution);
  if (!operation) return named(std::move(operation).error());
  const bool full = convolution.dtype == DType::f32 && !convolution.tf32;
  auto plan = CudnnPlan::choose(handle, *std::move(operation),
                                {full, convolution.output == convolution.dtype,
                                 convolution.workspace_bytes});
  if (!plan) return named(std::move(plan).error());
  return std::unique_ptr<CudaWork>(
      std::make_unique<CudnnConvolution>(convolution, *std::move(plan)));
}

Result<std::string> cudnn_version() {
  PLIMSOLL_ASSIGN(const CudnnCalls* const calls, load_cudnn());
  const std::size_t version = calls->p_cudnnGetVersion();
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100,
                     version % 100);
}

}  // namespace plimsoll::cuda
