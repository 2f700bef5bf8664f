#include "ops/update/step_function_cpu.h"

#include "ops/update/step_function.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

class StepFunctionKernel final : public Kernel {
 public:
  StepFunctionKernel(StepFunction function, bool wide)
      : function_(std::move(function)), wide_(wide) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const auto step = *static_cast<const std::int64_t*>(args.inputs[0]);
    const double value = function_.at(static_cast<double>(step));
    if (wide_) {
      *static_cast<double*>(args.outputs[0]) = value;
    } else {
      *static_cast<float*>(args.outputs[0]) = static_cast<float>(value);
    }
    return LaunchStatus::ok;
  }

 private:
  StepFunction function_;
  bool wide_;
};

Result<std::vector<KernelCandidate>> candidates(const KernelQuery&,
                                                ComputeThreads&) {
  KernelCandidate candidate;
  candidate.name = "step_function:own";
  candidate.seconds = 5e-8;
  return std::vector<KernelCandidate>{candidate};
}

Result<std::unique_ptr<Kernel>> create(const KernelQuery& query,
                                       const KernelCandidate&,
                                       ComputeThreads&) {
  auto function = StepFunction::of(*query.attrs);
  if (!function) return Error{ErrorCode::internal, "no such step function"};
  return std::unique_ptr<Kernel>(std::make_unique<StepFunctionKernel>(
      *std::move(function), query.outputs[0].dtype == DType::f64));
}

}  // namespace

CpuKernels step_function_cpu_kernel() {
  return {"step_function", candidates, create};
}

}  // namespace plimsoll::ops
