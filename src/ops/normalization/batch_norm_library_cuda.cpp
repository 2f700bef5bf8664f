#include "ops/normalization/batch_norm_library_cuda.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/units.h"
#include "ops/cuda_text.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

// Up to so many elements functions of ours cost less than the library.
constexpr std::int64_t kSmallBatch = 1 << 20;
// Numbers that it may count elements in.
constexpr std::int64_t kMostElements = (std::int64_t{1} << 31) - 1;
constexpr std::int64_t kLeastRows = 1024;
// Its kernels read so many channels at once.
constexpr std::int64_t kChannelGrain = 8;
// What it may use: 0.3 MiB was the most seen, of 256 channels.
constexpr std::int64_t kLeastWorkspace = kMiB;
constexpr std::int64_t kChannelWorkspace = kKiB;

bool suits_library(const KernelQuery& query, const NormForm& form) {
  const graph::TensorType& x = query.inputs[0];
  // In f32 its variance is that of one pass, and loses the digits that a mean
  // far from zero takes: ours does not.
  if (size_of(x.dtype) != 2) return false;
  const bool whole = form.gradient ? form.dgamma >= 0 && form.dbeta >= 0
                                   : form.gamma >= 0 && form.beta >= 0;
  if (form.kind != NormKind::batch || !whole ||
      x.shape.elements() <= kSmallBatch || x.shape.elements() > kMostElements ||
      x.shape.elements() / x.shape.extent(-1) < kLeastRows ||
      x.shape.extent(-1) % kChannelGrain != 0) {
    return false;
  }
  // Its parameters are all in f32.
  return query.inputs[static_cast<std::size_t>(form.gamma)].dtype == DType::f32;
}

// Of the deviation that the library gives out.
constexpr std::string_view kVariance =
    R"(  for (int c = block * 512 + threadIdx.x; c < $channels; c += blocks * 512) {
    const f64 deviation = out3[c];
    const f64 variance = sub(div(1.0, mul(deviation, deviation)), $epsilon);
    out2[c] = (f32)mul(variance > 0.0 ? variance : 0.0, $share);
  }
)";

cuda::Function variance_function(const KernelQuery& query) {
  const Shape& x = query.inputs[0].shape;
  const std::int64_t channels = x.extent(-1);
  const auto count = static_cast<double>(x.elements() / channels);
  const bool unbiased = query.attrs->get<bool>("unbiased");
  const auto number = [](double value) {
    return cuda_number(DType::f64, value);
  };
  return cuda_function(
      query,
      cuda_text(
          kVariance,
          {{"channels", channels},
           {"epsilon", number(query.attrs->get<double>("epsilon"))},
           {"share", number(unbiased ? count / std::max(1.0, count - 1) : 1)}}),
      cuda_blocks_of_threads(channels),
      {static_cast<double>(channels), 8 * static_cast<double>(channels)});
}

}  // namespace

std::optional<cuda::OpCode> library_batch_norm(const KernelQuery& query,
                                               const CudaSettings& settings,
                                               const NormForm& form) {
  if (!settings.library_layers || !suits_library(query, form)) return {};
  const Shape& x = query.inputs[0].shape;
  const std::int64_t channels = x.extent(-1);
  cuda::BatchNorm made;
  made.backward = form.gradient;
  made.dtype = query.inputs[0].dtype;
  made.x = {x.extent(0), 1, 1, channels};
  if (x.rank() == 4) {
    made.x[1] = x.extent(1);
    made.x[2] = x.extent(2);
  } else {
    made.x[1] = x.elements() / (x.extent(0) * channels);
  }
  made.epsilon = query.attrs->get<double>("epsilon");
  made.workspace_bytes = kLeastWorkspace + channels * kChannelWorkspace;
  cuda::OpCode code;
  code.name = fmt::format("{}{}", query.op->name, kCompiledLayer);
  code.scratch_bytes = made.workspace_bytes;
  code.stages.emplace_back(made);
  if (!form.gradient) code.stages.emplace_back(variance_function(query));
  return code;
}

}  // namespace plimsoll::ops
