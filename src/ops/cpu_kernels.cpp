#include "ops/cpu_kernels.h"

#include <map>

#include "device/cpu/compute_threads.h"
#include "ops/attention/attention_cpu.h"
#include "ops/convolution/convolution_cpu.h"
#include "ops/elementwise/elementwise_cpu.h"
#include "ops/embedding/embedding_cpu.h"
#include "ops/indexing/indexing_cpu.h"
#include "ops/loss/linear_cross_entropy_cpu.h"
#include "ops/loss/loss_cpu.h"
#include "ops/matmul/matmul_cpu.h"
#include "ops/movement/movement_cpu.h"
#include "ops/normalization/normalization_cpu.h"
#include "ops/pooling/pooling_cpu.h"
#include "ops/random/random_cpu.h"
#include "ops/recurrent/recurrent_cpu.h"
#include "ops/reduction/reduction_cpu.h"
#include "ops/refusal.h"
#include "ops/resize/resize_cpu.h"
#include "ops/softmax/softmax_cpu.h"
#include "ops/update/update_cpu.h"
#include "ops/widened_cpu.h"

namespace plimsoll::ops {
namespace {

using KernelTable = std::map<std::string_view, const CpuKernels*>;

const KernelTable& kernel_table() {
  static const KernelTable table = [] {
    KernelTable kernels;
    const auto append = [&](std::span<const CpuKernels> family) {
      for (const CpuKernels& entry : family) kernels.emplace(entry.op, &entry);
    };
    append(elementwise_cpu_kernels());
    append(movement_cpu_kernels());
    append(matmul_cpu_kernels());
    append(reduction_cpu_kernels());
    append(softmax_cpu_kernels());
    append(loss_cpu_kernels());
    append(linear_loss_cpu_kernels());
    append(random_cpu_kernels());
    append(update_cpu_kernels());
    append(indexing_cpu_kernels());
    append(resize_cpu_kernels());
    append(embedding_cpu_kernels());
    append(normalization_cpu_kernels());
    append(pooling_cpu_kernels());
    append(attention_cpu_kernels());
    append(convolution_cpu_kernels());
    append(recurrent_cpu_kernels());
    return kernels;
  }();
  return table;
}

class CpuKernelFactory final : public KernelFactory {
 public:
  explicit CpuKernelFactory(ComputeThreads& threads) : threads_(threads) {}

  Result<std::vector<graph::KernelCandidate>> candidates(
      const graph::KernelQuery& query) const override {
    const CpuKernels* kernels = find(query);
    if (kernels == nullptr) return no_kernel(query, "cpu");
    auto found = kernels->candidates(query, threads_);
    if (found.ok() && found->empty() && has_halves(query)) {
      found = widened_candidates(query, *kernels, threads_);
    }
    // A family may leave the wording to us by offering nothing.
    if (found.ok() && found->empty()) return no_kernel(query, "cpu");
    return found;
  }

  Result<std::unique_ptr<Kernel>> create(
      const graph::KernelQuery& query,
      const graph::KernelCandidate& candidate) const override {
    const CpuKernels* kernels = find(query);
    if (kernels == nullptr) return no_kernel(query, "cpu");
    return is_widened(candidate)
               ? create_widened(query, candidate, *kernels, threads_)
               : kernels->create(query, candidate, threads_);
  }

 private:
  static const CpuKernels* find(const graph::KernelQuery& query) {
    const auto found = kernel_table().find(query.op->name);
    return found == kernel_table().end() ? nullptr : found->second;
  }

  ComputeThreads& threads_;
};

}  // namespace

std::unique_ptr<KernelFactory> make_cpu_kernels(ComputeThreads& threads) {
  return std::make_unique<CpuKernelFactory>(threads);
}

}  // namespace plimsoll::ops
