// What the CPU's kernels of this family share: the op at fixed shapes, gamma
// and beta in the dtype of computation, and scratch cut into pieces.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "base/half.h"
#include "base/units.h"
#include "device/cpu/compute_threads.h"
#include "ops/cpu_kernels.h"
#include "ops/normalization/norm_form.h"
#include "ops/normalization/stored.h"

namespace plimsoll::ops {

// Pieces that a result's sums are cut into, at most, and elements that one is
// made for: by the shape alone, so that sums do not depend on threads.
inline constexpr std::int64_t kMostNormParts = 64;
inline constexpr std::int64_t kNormPartElements = 16384;

struct NormPlan {
  NormForm form;
  NormShape shape;
  double epsilon = 0;
  bool unbiased = false;
  DType dtype = DType::f32;
  DType parameters = DType::f32;  // gamma's, beta's and their gradients'
};

inline NormPlan norm_plan(const graph::KernelQuery& query) {
  NormPlan plan;
  plan.form = norm_form(query.op->name, *query.attrs);
  const graph::TensorType& x =
      query.inputs[static_cast<std::size_t>(plan.form.x)];
  plan.shape = norm_shape(plan.form.kind, x.shape, *query.attrs);
  plan.epsilon = query.attrs->get<double>("epsilon");
  plan.unbiased = query.attrs->get<bool>("unbiased");
  plan.dtype = x.dtype;
  const auto in = [&](int i) {
    return query.inputs[static_cast<std::size_t>(i)].dtype;
  };
  if (plan.form.gamma >= 0) {
    plan.parameters = in(plan.form.gamma);
  } else if (plan.form.beta >= 0) {
    plan.parameters = in(plan.form.beta);
  } else if (plan.form.dbeta >= 0) {
    plan.parameters =
        query.outputs[static_cast<std::size_t>(plan.form.dbeta)].dtype;
  }
  return plan;
}

// Hands out pieces of scratch, each on its own cache lines; without scratch it
// only counts.
class Room {
 public:
  explicit Room(void* start) : start_(static_cast<std::byte*>(start)) {}

  template <class V>
  V* take(std::int64_t count) {
    std::byte* const piece = start_ != nullptr ? start_ + bytes_ : nullptr;
    bytes_ += round_up(count * static_cast<std::int64_t>(sizeof(V)), 64);
    return reinterpret_cast<V*>(piece);
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::byte* start_;
  std::int64_t bytes_ = 0;
};

template <class V>
const V* norm_input(const LaunchArgs& args, int position) {
  return position < 0 ? nullptr : static_cast<const V*>(args.inputs[position]);
}
template <class V>
V* norm_output(const LaunchArgs& args, int position) {
  return position < 0 ? nullptr : static_cast<V*>(args.outputs[position]);
}

// gamma or beta, `count` values, as they lie or else written to `room`.
template <class C>
const C* parameter(const LaunchArgs& args, int position, DType dtype,
                   std::int64_t count, C missing, C* room) {
  if (position < 0) {
    std::fill_n(room, count, missing);
    return room;
  }
  const void* given = args.inputs[position];
  if (dtype != DType::bf16 && dtype != DType::f16) {
    return static_cast<const C*>(given);
  }
  const auto* halves = static_cast<const std::uint16_t*>(given);
  for (std::int64_t i = 0; i < count; ++i) {
    room[i] = static_cast<C>(dtype == DType::bf16 ? bf16_to_float(halves[i])
                                                  : f16_to_float(halves[i]));
  }
  return room;
}

// Sums of a parameter's gradient from `first` on, rounded to its dtype.
inline void store_sums(const double* sums, std::int64_t first, std::int64_t end,
                       DType dtype, void* to) {
  for (std::int64_t i = first; i < end; ++i) {
    if (dtype == DType::f64) {
      static_cast<double*>(to)[i] = sums[i];
      continue;
    }
    const auto value = static_cast<float>(sums[i]);
    if (dtype == DType::f32) {
      static_cast<float*>(to)[i] = value;
    } else {
      static_cast<std::uint16_t*>(to)[i] =
          dtype == DType::bf16 ? float_to_bf16(value) : float_to_f16(value);
    }
  }
}

// Sums of `parts` pieces, `stride` doubles from one to the next, gather in the
// first, in order, and go out: channels are spread over threads.
inline void join_sums(ComputeThreads& threads, double* sums, std::int64_t parts,
                      std::int64_t stride, std::int64_t count, DType dtype,
                      void* to) noexcept {
  constexpr std::int64_t kChunk = 512;
  auto body = [&](std::int64_t chunk) {
    const std::int64_t first = chunk * kChunk;
    const std::int64_t end = std::min(count, first + kChunk);
    for (std::int64_t part = 1; part < parts; ++part) {
      const double* next = sums + part * stride;
      for (std::int64_t i = first; i < end; ++i) sums[i] += next[i];
    }
    if (to != nullptr) store_sums(sums, first, end, dtype, to);
  };
  threads.for_each_chunk((count + kChunk - 1) / kChunk, body);
}

inline graph::KernelCandidate norm_candidate(const graph::KernelQuery& query,
                                             std::string name,
                                             std::int64_t scratch_bytes,
                                             const ComputeThreads& threads) {
  constexpr double kBytesPerSecond = 8e9;  // of one thread
  graph::KernelCandidate candidate;
  candidate.name = std::move(name);
  candidate.scratch_bytes = scratch_bytes;
  candidate.private_bytes = 512;
  const double bytes =
      query.op->cost(query.inputs, query.outputs, *query.attrs).bytes;
  const double sharing =
      std::clamp(bytes / 65536, 1.0, static_cast<double>(threads.size()));
  candidate.seconds = 2e-7 + bytes / kBytesPerSecond / sharing;
  return candidate;
}

using NormCandidates = Result<std::vector<graph::KernelCandidate>>(
    const graph::KernelQuery&, ComputeThreads&);
using NormCreator = Result<std::unique_ptr<Kernel>>(
    const graph::KernelQuery&, const graph::KernelCandidate&, ComputeThreads&);

NormCandidates row_norm_candidates, row_norm_grad_candidates,
    channel_norm_candidates, channel_norm_grad_candidates;
NormCreator create_row_norm, create_row_norm_grad, create_channel_norm,
    create_channel_norm_grad;

}  // namespace plimsoll::ops
