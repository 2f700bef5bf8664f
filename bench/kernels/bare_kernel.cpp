#include "kernels/bare_kernel.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace plimsoll::bench {
namespace {

void fill(std::byte* to, const graph::TensorType& type) {
  const auto count = static_cast<std::size_t>(type.shape.elements());
  if (type.dtype == DType::f32) {
    std::fill_n(reinterpret_cast<float*>(to), count, 0.01f);
  } else if (type.dtype == DType::f64) {
    std::fill_n(reinterpret_cast<double*>(to), count, 0.01);
  } else {
    std::memset(to, 0, static_cast<std::size_t>(type.bytes()));
  }
}

// As the kernel wants it to lie.
graph::TensorType stored(const graph::TensorType& type,
                         const std::vector<graph::Layout>& layouts,
                         std::size_t at) {
  if (at >= layouts.size() || !layouts[at].is_packed()) return type;
  return {type.dtype, {layouts[at].elements()}};
}

}  // namespace

void BareKernel::Free::operator()(std::byte* bytes) const noexcept {
  std::free(bytes);
}

BareKernel::Block BareKernel::allocate(std::int64_t bytes) {
  constexpr std::size_t kPage = 4096;  // as the arena's buffers may start
  const auto size = (static_cast<std::size_t>(bytes) / kPage + 1) * kPage;
  auto* block = static_cast<std::byte*>(std::aligned_alloc(kPage, size));
  madvise(block, size, MADV_HUGEPAGE);  // as the arena's are
  return Block(block);
}

std::size_t BareKernel::choices(ComputeThreads& threads, const graph::OpDef& op,
                                const graph::TypeList& inputs,
                                const graph::Attrs& attrs) {
  const auto outputs = op.infer(inputs, attrs);
  if (!outputs) return 0;
  const auto found = ops::make_cpu_kernels(threads)->candidates(
      {&op, inputs, *outputs, &attrs});
  return found ? found->size() : 0;
}

Result<BareKernel> BareKernel::make(ComputeThreads& threads,
                                    const graph::OpDef& op,
                                    const graph::TypeList& inputs,
                                    const graph::Attrs& attrs,
                                    std::size_t choice) {
  PLIMSOLL_ASSIGN(const graph::TypeList outputs, op.infer(inputs, attrs));
  const graph::KernelQuery query{&op, inputs, outputs, &attrs};
  const auto factory = ops::make_cpu_kernels(threads);
  PLIMSOLL_ASSIGN(const auto candidates, factory->candidates(query));
  BareKernel bare;
  bare.candidate_ = candidates[choice];
  PLIMSOLL_ASSIGN(bare.kernel_, factory->create(query, bare.candidate_));
  bare.cost_ = op.cost(inputs, outputs, attrs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto type = stored(inputs[i], bare.candidate_.input_layouts, i);
    bare.blocks_.push_back(allocate(type.bytes()));
    fill(bare.blocks_.back().get(), type);
    bare.inputs_.push_back(bare.blocks_.back().get());
  }
  // Element-wise ops over their own results soon have nothing but subnormals.
  const bool drifts = op.elementwise || op.name == "fused";
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto shared = std::find_if(
        op.in_place.begin(), op.in_place.end(),
        [&](auto pair) { return pair.output == static_cast<int>(i); });
    if (shared != op.in_place.end() && !drifts) {  // as the plan places it
      bare.outputs_.push_back(
          bare.blocks_[static_cast<std::size_t>(shared->input)].get());
      continue;
    }
    const auto type = stored(outputs[i], bare.candidate_.output_layouts, i);
    bare.blocks_.push_back(allocate(type.bytes()));
    fill(bare.blocks_.back().get(), type);
    bare.outputs_.push_back(bare.blocks_.back().get());
  }
  bare.blocks_.push_back(allocate(bare.candidate_.scratch_bytes));
  bare.args_ = {bare.inputs_.data(), bare.outputs_.data(),
                bare.blocks_.back().get()};
  return bare;
}

}  // namespace plimsoll::bench
