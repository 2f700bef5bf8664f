#include "ops/normalization/norm_library_cuda.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "base/units.h"
#include "ops/cuda_text.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

// Up to so many elements, or rows, functions of ours cost less.
constexpr std::int64_t kSmallBatch = 1 << 20;
constexpr std::int64_t kFewRows = 1024;
// From here on it is the faster one back through rows.
constexpr std::int64_t kLongRow = 16384;
constexpr std::int64_t kManyInRows = 1 << 22;
// Numbers that it may count elements in.
constexpr std::int64_t kMostElements = (std::int64_t{1} << 31) - 1;
// Its kernels read so many channels at once.
constexpr std::int64_t kChannelGrain = 8;
// What it may use. The most that was seen: 0.3 MiB of a batch of 256 channels,
// 4.1 MiB back through rows of 4,096, 24.5 through 32,768 and more.
constexpr std::int64_t kLeastWorkspace = kMiB;
constexpr std::int64_t kChannelWorkspace = kKiB;
constexpr std::int64_t kMostWorkspace = 32 * kMiB;

std::optional<cuda::Normalization::Kind> library_kind(NormKind kind) {
  switch (kind) {
    case NormKind::batch:
      return cuda::Normalization::Kind::batch;
    case NormKind::layer:
      return cuda::Normalization::Kind::layer;
    case NormKind::rms:
      return cuda::Normalization::Kind::rms;
    default:
      return {};
  }
}

bool suits_library(const KernelQuery& query, const NormForm& form) {
  const graph::TensorType& x = query.inputs[0];
  // In f32 a batch's variance there is that of one pass, and loses the digits
  // that a mean far from zero takes: ours does not.
  if (size_of(x.dtype) != 2) return false;
  const bool centered = form.kind != NormKind::rms;
  const bool whole =
      form.gamma >= 0 &&
      (!centered || (form.gradient ? form.dbeta >= 0 : form.beta >= 0));
  return whole && x.shape.elements() > 0 &&
         x.shape.elements() <= kMostElements &&
         x.shape.extent(-1) % kChannelGrain == 0 &&
         // Its parameters are all in f32.
         query.inputs[static_cast<std::size_t>(form.gamma)].dtype == DType::f32;
}

// Whether it is faster than functions of ours by more than the host's memory
// for its engine is worth: a batch, and back through rows that a block of ours
// can hardly hold, if their length is a power of 2 (docs/0011 has the figures).
bool pays(const Shape& x, const NormForm& form) {
  const std::int64_t channels = x.extent(-1);
  if (form.kind == NormKind::batch) {
    return x.elements() > kSmallBatch && x.elements() / channels >= kFewRows;
  }
  return form.gradient && channels >= kLongRow &&
         std::has_single_bit(static_cast<std::uint64_t>(channels)) &&
         x.elements() >= kManyInRows;
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

std::optional<cuda::OpCode> library_norm(const KernelQuery& query,
                                         const CudaSettings& settings,
                                         const NormForm& form) {
  const auto kind = library_kind(form.kind);
  if (!settings.library_layers || !kind || !suits_library(query, form)) {
    return {};
  }
  const Shape& x = query.inputs[0].shape;
  if (!settings.library_wherever && !pays(x, form)) return {};
  const std::int64_t channels = x.extent(-1);
  const bool of_rows = *kind != cuda::Normalization::Kind::batch;
  cuda::Normalization made;
  made.kind = *kind;
  made.backward = form.gradient;
  made.dtype = query.inputs[0].dtype;
  made.x = {of_rows ? x.elements() / channels : x.extent(0), 1, 1, channels};
  if (x.rank() == 4 && !of_rows) {
    made.x[1] = x.extent(1);
    made.x[2] = x.extent(2);
  } else {
    made.x[1] = x.elements() / (made.x[0] * channels);
  }
  made.epsilon = query.attrs->get<double>("epsilon");
  made.workspace_bytes =
      std::min(kLeastWorkspace + channels * kChannelWorkspace, kMostWorkspace);
  cuda::OpCode code;
  code.name = fmt::format("{}{}", query.op->name, kCompiledLayer);
  code.scratch_bytes = made.workspace_bytes;
  code.stages.emplace_back(made);
  if (form.variance_out >= 0) {
    code.stages.emplace_back(variance_function(query));
  }
  return code;
}

}  // namespace plimsoll::ops
