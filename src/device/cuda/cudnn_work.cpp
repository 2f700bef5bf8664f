#include "device/cuda/cudnn_work.h"

#include <algorithm>
#include <vector>

#include "device/cuda/cudnn_attention.h"
#include "device/cuda/cudnn_convolution.h"
#include "device/cuda/cudnn_normalization.h"
#include "device/cuda/cudnn_pooling_grad.h"

namespace plimsoll::cuda {
namespace {

// Plans that equal work shares while any of it is there: layers repeat, and an
// engine that is compiled takes seconds and memory each time.
template <class Work>
class SharedPlans {
 public:
  Result<std::shared_ptr<const CudnnPlan>> find(
      cudnnHandle_t handle, const Work& work,
      Result<CudnnPlan> (*choose)(cudnnHandle_t, const Work&)) {
    std::erase_if(kept_, [](const Kept& kept) { return kept.plan.expired(); });
    for (const Kept& kept : kept_) {
      if (kept.work != work) continue;
      if (auto plan = kept.plan.lock()) return plan;
    }
    PLIMSOLL_ASSIGN(CudnnPlan chosen, choose(handle, work));
    auto plan = std::make_shared<const CudnnPlan>(std::move(chosen));
    kept_.push_back({work, plan});
    return plan;
  }

 private:
  struct Kept {
    Work work;
    std::weak_ptr<const CudnnPlan> plan;
  };
  std::vector<Kept> kept_;
};

class OpenCudnn final : public CudnnWork {
 public:
  explicit OpenCudnn(cudnnHandle_t handle) : handle_(handle) {}
  ~OpenCudnn() override { cudnn().p_cudnnDestroy(handle_); }
  OpenCudnn(const OpenCudnn&) = delete;
  OpenCudnn& operator=(const OpenCudnn&) = delete;

  Result<std::unique_ptr<CudaWork>> prepare(
      const Convolution& convolution) override {
    return make_cudnn_convolution(handle_, convolution);
  }
  Result<std::unique_ptr<CudaWork>> prepare(
      const Attention& attention) override {
    // What does not change a launch.
    Attention kind = attention;
    kind.batch = kind.levels_offset_bytes = 0;
    PLIMSOLL_ASSIGN(auto plan,
                    attentions_.find(handle_, kind, choose_cudnn_attention));
    return make_cudnn_attention(attention, std::move(plan));
  }
  Result<std::unique_ptr<CudaWork>> prepare(
      const Normalization& normalization) override {
    PLIMSOLL_ASSIGN(auto plan,
                    normalizations_.find(handle_, normalization,
                                         choose_cudnn_normalization));
    return make_cudnn_normalization(normalization, std::move(plan));
  }
  Result<std::unique_ptr<CudaWork>> prepare(
      const AveragePoolGrad& pooling) override {
    PLIMSOLL_ASSIGN(
        auto plan, poolings_.find(handle_, pooling, choose_cudnn_pooling_grad));
    return make_cudnn_pooling_grad(std::move(plan));
  }

 private:
  cudnnHandle_t handle_;
  SharedPlans<Attention> attentions_;
  SharedPlans<Normalization> normalizations_;
  SharedPlans<AveragePoolGrad> poolings_;
};

}  // namespace

Result<std::unique_ptr<CudnnWork>> CudnnWork::open() {
  PLIMSOLL_ASSIGN(const CudnnCalls* const calls, load_cudnn());
  cudnnHandle_t handle = nullptr;
  PLIMSOLL_RETURN_IF_ERROR(check("cudnnCreate", calls->p_cudnnCreate(&handle)));
  return std::unique_ptr<CudnnWork>(std::make_unique<OpenCudnn>(handle));
}

Result<std::string> cudnn_version() {
  const auto calls = load_cudnn();
  if (!calls) return calls.error();
  return version_text();
}

}  // namespace plimsoll::cuda
