#include "device/cuda/cudnn_batch_norm.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "device/cuda/operand_address.h"

namespace plimsoll::cuda {
namespace {

CudnnGraph graph_of(const BatchNorm& of) {
  CudnnGraph graph;
  const auto [b, h, w, c] = of.x;
  const CudnnLayout images = channels_last(b, h, w, c);
  const CudnnLayout channels = channels_last(1, 1, 1, c);
  const auto elements = [&] {
    return graph.operand(cudnn_type(of.dtype), images);
  };
  const auto numbers = [&] {
    return graph.operand(CUDNN_DATA_FLOAT, channels);
  };
  const cudnnBackendNormMode_t mode = CUDNN_BATCH_NORM;
  if (of.backward) {
    const int dy = elements();
    const int x = elements();
    const int gamma = numbers();
    const int mean = numbers();
    const int deviation = numbers();
    const int dx = elements();
    const int dgamma = numbers();
    const int dbeta = numbers();
    graph.operation(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR)
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE, &mode)
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, x)
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, mean)
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, deviation)
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, dy)
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, gamma)
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, dgamma)
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, dbeta)
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, dx)
        .add();
    return graph;
  }
  const int x = elements();
  const int gamma = numbers();
  const int beta = numbers();
  const int y = elements();
  const int mean = numbers();
  const int deviation = numbers();
  const int epsilon = graph.number(static_cast<float>(of.epsilon));
  const cudnnBackendNormFwdPhase_t phase = CUDNN_NORM_FWD_TRAINING;
  graph.operation(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, &mode)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE,
           &phase)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, x)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, mean)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, deviation)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, gamma)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, beta)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, epsilon)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, y)
      .add();
  return graph;
}

class CudnnBatchNorm final : public CudaWork {
 public:
  CudnnBatchNorm(bool backward, std::shared_ptr<const CudnnPlan> plan)
      : backward_(backward), plan_(std::move(plan)) {}

  Status launch(Stream& stream, const void* const* inputs, void* const* outputs,
                void* scratch) override {
    const auto in = [&](int number) -> void* {
      return address_of({Operand::Of::input, number}, inputs, outputs, scratch);
    };
    if (backward_) {
      void* const pointers[] = {in(0), in(1),      in(2),      in(3),
                                in(4), outputs[0], outputs[1], outputs[2]};
      return plan_->launch(stream, pointers, scratch);
    }
    // The variance is the third output.
    void* const pointers[] = {in(0),      in(1),      in(2),
                              outputs[0], outputs[1], outputs[3]};
    return plan_->launch(stream, pointers, scratch);
  }

  std::string algorithm() const override { return plan_->engine(); }

 private:
  const bool backward_;
  const std::shared_ptr<const CudnnPlan> plan_;
};

}  // namespace

Result<CudnnPlan> choose_cudnn_batch_norm(cudnnHandle_t handle,
                                          const BatchNorm& batch_norm) {
  auto plan = CudnnPlan::choose(
      handle, graph_of(batch_norm),
      {.compiled = true, .workspace_bytes = batch_norm.workspace_bytes});
  if (plan) return plan;
  Error error = std::move(plan).error();
  error.message +=
      fmt::format(" (batch normalization, {}, {} of [{}])",
                  batch_norm.backward ? "backward" : "forward",
                  name_of(batch_norm.dtype), fmt::join(batch_norm.x, ", "));
  return error;
}

std::unique_ptr<CudaWork> make_cudnn_batch_norm(
    const BatchNorm& batch_norm, std::shared_ptr<const CudnnPlan> plan) {
  return std::make_unique<CudnnBatchNorm>(batch_norm.backward, std::move(plan));
}

}  // namespace plimsoll::cuda
