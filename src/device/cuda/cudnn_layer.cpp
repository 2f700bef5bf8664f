#include "device/cuda/cudnn_layer.h"

#include "device/cuda/operand_address.h"

namespace plimsoll::cuda {
namespace {

class CudnnLayer final : public CudaWork {
 public:
  CudnnLayer(std::vector<Operand> operands,
             std::shared_ptr<const CudnnPlan> plan)
      : operands_(std::move(operands)),
        pointers_(operands_.size()),
        plan_(std::move(plan)) {}

  Status launch(Stream& stream, const void* const* inputs, void* const* outputs,
                void* scratch) override {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      pointers_[i] = address_of(operands_[i], inputs, outputs, scratch);
    }
    return plan_->launch(stream, pointers_, scratch);
  }

  std::string algorithm() const override { return plan_->engine(); }

 private:
  const std::vector<Operand> operands_;
  std::vector<void*> pointers_;  // of a launch
  const std::shared_ptr<const CudnnPlan> plan_;
};

}  // namespace

std::unique_ptr<CudaWork> make_cudnn_layer(
    std::vector<Operand> operands, std::shared_ptr<const CudnnPlan> plan) {
  return std::make_unique<CudnnLayer>(std::move(operands), std::move(plan));
}

}  // namespace plimsoll::cuda
