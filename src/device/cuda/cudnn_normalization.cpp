#include "device/cuda/cudnn_normalization.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "device/cuda/cudnn_layer.h"

namespace plimsoll::cuda {
namespace {

using Kind = Normalization::Kind;

cudnnBackendNormMode_t mode_of(Kind kind) {
  switch (kind) {
    case Kind::layer:
      return CUDNN_LAYER_NORM;
    case Kind::rms:
      return CUDNN_RMS_NORM;
    default:
      return CUDNN_BATCH_NORM;
  }
}

// Operands in the order in which a launch gives them.
class NormGraph {
 public:
  explicit NormGraph(const Normalization& of)
      : of_(of), mode_(mode_of(of.kind)), centered_(of.kind != Kind::rms) {}

  CudnnGraph forward() {
    const int x = elements();
    const int gamma = parameters();
    const int beta = centered_ ? parameters() : -1;
    const int y = elements();
    const int mean = centered_ ? statistics() : -1;
    const int deviation = statistics();
    const int epsilon = graph_.number(static_cast<float>(of_.epsilon));
    const cudnnBackendNormFwdPhase_t phase = CUDNN_NORM_FWD_TRAINING;
    auto norm =
        graph_.operation(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
    norm.set(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, &mode_)
        .set(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE,
             &phase)
        .set(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, x)
        .set(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, deviation)
        .set(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, gamma)
        .set(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, epsilon)
        .set(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, y);
    if (centered_) {
      norm.set(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, mean)
          .set(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, beta);
    }
    norm.add();
    return std::move(graph_);
  }

  CudnnGraph backward() {
    const int dy = elements();
    const int x = elements();
    const int gamma = parameters();
    const int mean = centered_ ? statistics() : -1;
    const int deviation = statistics();
    const int dx = elements();
    const int dgamma = parameters();
    const int dbeta = centered_ ? parameters() : -1;
    auto norm =
        graph_.operation(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
    norm.set(CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE, &mode_)
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, x)
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, deviation)
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, dy)
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, gamma)
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, dgamma)
        .set(CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, dx);
    if (centered_) {
      norm.set(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, mean)
          .set(CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, dbeta);
    }
    norm.add();
    return std::move(graph_);
  }

 private:
  int elements() {
    const auto [b, h, w, c] = of_.x;
    return graph_.operand(cudnn_type(of_.dtype), channels_last(b, h, w, c));
  }
  int parameters() {
    return graph_.operand(CUDNN_DATA_FLOAT, channels_last(1, 1, 1, of_.x[3]));
  }
  int statistics() {
    return of_.kind == Kind::batch
               ? parameters()
               : graph_.operand(CUDNN_DATA_FLOAT,
                                channels_last(of_.x[0], 1, 1, 1));
  }

  const Normalization& of_;
  const cudnnBackendNormMode_t mode_;
  const bool centered_;
  CudnnGraph graph_;
};

// dy, x, gamma, mean and deviation give dx, dgamma and dbeta; x, gamma and beta
// give y, mean and deviation. RMS has neither mean nor beta.
std::vector<Operand> operands_of(const Normalization& of) {
  using Of = Operand::Of;
  const int centered = of.kind == Kind::rms ? 0 : 1;
  std::vector<Operand> operands;
  for (int i = 0; i < (of.backward ? 4 : 2) + centered; ++i) {
    operands.push_back({Of::input, i});
  }
  for (int i = 0; i < 2 + centered; ++i) operands.push_back({Of::output, i});
  // A batch's variance stands between its mean and its deviation.
  if (of.kind == Kind::batch && !of.backward) operands.back().number = 3;
  return operands;
}

}  // namespace

Result<CudnnPlan> choose_cudnn_normalization(cudnnHandle_t handle,
                                             const Normalization& of) {
  NormGraph graph(of);
  auto plan = CudnnPlan::choose(
      handle, of.backward ? graph.backward() : graph.forward(),
      {.compiled = true, .workspace_bytes = of.workspace_bytes});
  if (plan) return plan;
  constexpr const char* kKinds[] = {"batch", "layer", "rms"};
  Error error = std::move(plan).error();
  error.message += fmt::format(" ({} normalization, {}, {} of [{}])",
                               kKinds[static_cast<std::size_t>(of.kind)],
                               of.backward ? "backward" : "forward",
                               name_of(of.dtype), fmt::join(of.x, ", "));
  return error;
}

std::unique_ptr<CudaWork> make_cudnn_normalization(
    const Normalization& of, std::shared_ptr<const CudnnPlan> plan) {
  return make_cudnn_layer(operands_of(of), std::move(plan));
}

}  // namespace plimsoll::cuda
