// Batch normalization: sums of each channel, then one pass over elements.
#include <fmt/core.h>

#include <algorithm>

#include "ops/normalization/column_sums_cuda.h"
#include "ops/normalization/norm_codes_cuda.h"
#include "ops/normalization/norm_library_cuda.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

// Of each channel's parts: the mean in two pieces and the sum of squared
// distances from it. Rows are read twice, the second time from the cache.
constexpr std::string_view kMoments =
    R"(  for (I task = block; task < $tasks; task += blocks) {
    const I c = task / $parts * $team + threadIdx.x % $team;
    const I p = task % $parts;
    const I end = (p + 1) * $part < $rows ? (p + 1) * $part : $rows;
    const I first = p * $part + threadIdx.x / $team;
    const C count = (C)(end - p * $part);
    C sum = 0;
    for (I r = first; c < $channels && r < end;) {
      C some = 0;
#pragma unroll 4
      for (int k = 0; k < 64 && r < end; ++k, r += 512 / $team) {
        some = add(some, (C)load(in0[r * $channels + c]));
      }
      sum = add(sum, some);
    }
    const C middle = div(down(sum), count);
    C rest = 0, squares = 0;
    for (I r = first; c < $channels && r < end;) {
      C some = 0, more = 0;
#pragma unroll 4
      for (int k = 0; k < 64 && r < end; ++k, r += 512 / $team) {
        const C d = sub((C)load(in0[r * $channels + c]), middle);
        some = add(some, d);
        more = mul_add(d, d, more);
      }
      rest = add(rest, some);
      squares = add(squares, more);
    }
    rest = down(rest);
    squares = down(squares);
    if (threadIdx.x < $team && c < $channels) {
      C* to = (C*)scratch + (c * $parts + p) * 3;
      to[0] = middle;
      to[1] = div(rest, count);
      to[2] = sub(squares, mul(rest, div(rest, count)));
    }
  }
)";

// In f64, so that a mean far above the deviation costs nothing.
constexpr std::string_view kJoinMoments =
    R"(  C* factors = (C*)scratch + $moments;
  for (I c = block * 16 + threadIdx.x / 32; c < $channels;
       c += blocks * 16) {
    const C* from = (const C*)scratch + c * ($parts * 3);
    f64 sum = 0, squares = 0;
    for (I p = threadIdx.x % 32; p < $parts; p += 32) {
      const f64 rows = p + 1 < $parts ? $part : $last;
      sum = add(sum, mul(rows, add((f64)from[p * 3], (f64)from[p * 3 + 1])));
    }
    const f64 mean = div(Team<32>::join<Sum>(sum), $count);
    for (I p = threadIdx.x % 32; p < $parts; p += 32) {
      const f64 rows = p + 1 < $parts ? $part : $last;
      const f64 d = sub(add((f64)from[p * 3], (f64)from[p * 3 + 1]), mean);
      squares = add(squares, add((f64)from[p * 3 + 2], mul(rows, mul(d, d))));
    }
    f64 variance = div(Team<32>::join<Sum>(squares), $count);
    if (variance < 0.0) variance = 0.0;
    if (threadIdx.x % 32 == 0) {
      const f64 deviation = div(1.0, root(add(variance, $epsilon)));
      const f64 scale = mul(deviation, (f64)$gamma);
      const C most = (C)mean;
      factors[c] = most;
      factors[$channels + c] = (C)scale;
      factors[2 * $channels + c] =
          (C)sub((f64)$beta, mul(sub(mean, (f64)most), scale));
      out1[c] = most;
      out2[c] = (C)mul(variance, $share);
      out3[c] = (C)deviation;
    }
  }
)";

constexpr std::string_view kGivenFactors =
    R"(  C* factors = (C*)scratch;
  for (I c = block * 512 + threadIdx.x; c < $channels; c += blocks * 512) {
    factors[c] = in$mean[c];
    factors[$channels + c] = div($gamma, root(add(in$variance[c], $epsilon)));
    factors[2 * $channels + c] = $beta;
  }
)";

constexpr std::string_view kElements =
    R"(  const C* factors = (const C*)scratch + $moments;
  for (I i = (I)(block * 512 + threadIdx.x) * $V; i < $N;
       i += (I)blocks * (512 * $V)) {
    Vec<T, $V> v = read<$V>(in0 + i);
$read#pragma unroll
    for (int k = 0; k < $V; ++k) {
      const I c = i % $channels + k;
      v.v[k] = store<T>($value);
    }
    write<$V>(out0 + i, v);
  }
)";

// The sums of a channel become gradients of its parameters and factors of dx.
constexpr std::string_view kGradientFactors =
    R"(      C* factors = (C*)scratch + $moments;
      const C deviation = $deviation;
      const C scale = mul($gamma, deviation);
      factors[c] = scale;
      factors[$channels + c] =
          -div(mul(mul(scale, deviation), dot), $count);
      factors[2 * $channels + c] = -div(mul(scale, sum), $count);
)";

struct Batch {
  NormForm form;
  NormShape shape;
  ColumnCut cut;
  DType dtype = DType::f32;
  DType compute = DType::f32;
  double epsilon = 0;
  std::string types;

  std::string number(double value) const { return cuda_number(compute, value); }
};

Batch batch_of(const KernelQuery& query) {
  Batch batch;
  batch.form = norm_form(query.op->name, *query.attrs);
  batch.dtype = query.inputs[0].dtype;
  batch.compute = wide_dtype(batch.dtype);
  batch.shape =
      norm_shape(batch.form.kind, query.inputs[0].shape, *query.attrs);
  if (batch.shape.elements() > 0) {
    batch.cut = cut_columns(batch.shape.rows, batch.shape.channels);
  }
  batch.epsilon = query.attrs->get<double>("epsilon");
  batch.types = norm_types_text(query, batch.form, batch.shape);
  return batch;
}

cuda::Function elements_function(const KernelQuery& query, const Batch& batch,
                                 std::int64_t moments, std::string_view read,
                                 std::string_view value) {
  const std::int64_t width =
      cuda_width(size_of(batch.dtype), batch.shape.channels);
  return cuda_function(
      query,
      batch.types + cuda_text(kElements, {{"moments", moments},
                                          {"V", width},
                                          {"N", batch.shape.elements()},
                                          {"channels", batch.shape.channels},
                                          {"read", read},
                                          {"value", value}}),
      cuda_blocks_of_threads(batch.shape.elements() / width),
      query.op->cost(query.inputs, query.outputs, *query.attrs));
}

// Of a channel's few values.
cuda::Function channel_function(const KernelQuery& query, std::string body,
                                std::int64_t blocks, std::int64_t values) {
  return cuda_function(
      query, std::move(body), cuda_blocks(blocks),
      {static_cast<double>(values), 8 * static_cast<double>(values)});
}

std::string normalize_text(std::int64_t channels) {
  return fmt::format(
      "add(mul(sub((C)load(v.v[k]), factors[c]), factors[{0} + c]), "
      "factors[2 * {0} + c])",
      channels);
}

cuda::OpCode inference_code(const KernelQuery& query, const Batch& batch) {
  const std::int64_t channels = batch.shape.channels;
  cuda::OpCode code;
  code.name = "batch_norm_inference:cuda";
  code.scratch_bytes = 3 * channels * size_of(batch.compute);
  code.stages.emplace_back(channel_function(
      query,
      batch.types +
          cuda_text(kGivenFactors, {{"channels", channels},
                                    {"mean", batch.form.mean},
                                    {"variance", batch.form.deviation},
                                    {"epsilon", batch.number(batch.epsilon)},
                                    {"gamma", gamma_text(batch.form)},
                                    {"beta", beta_text(batch.form)}}),
      (channels + 511) / 512, channels));
  code.stages.emplace_back(
      elements_function(query, batch, 0, "", normalize_text(channels)));
  return code;
}

}  // namespace

Result<cuda::OpCode> batch_norm_code(const KernelQuery& query,
                                     const CudaSettings& settings) {
  const Batch batch = batch_of(query);
  const NormForm& form = batch.form;
  const ColumnCut& cut = batch.cut;
  if (batch.shape.elements() == 0) {
    return no_rows_code(query, form, batch.shape);
  }
  if (form.kind == NormKind::inference) return inference_code(query, batch);
  if (auto made = library_norm(query, settings, form)) {
    return *std::move(made);
  }
  const std::int64_t channels = batch.shape.channels;
  const std::int64_t moments = 3 * channels * cut.parts;
  const auto count = static_cast<double>(cut.rows);
  const bool unbiased = query.attrs->get<bool>("unbiased");
  const auto number = [](double value) {
    return cuda_number(DType::f64, value);
  };
  cuda::OpCode code;
  code.name = fmt::format("batch_norm:cuda:{}", cut.name());
  code.scratch_bytes = (moments + 3 * channels) * size_of(batch.compute);
  code.stages.emplace_back(
      cuda_function(query,
                    batch.types + down_text(cut) +
                        cuda_text(kMoments, {{"team", cut.team},
                                             {"tasks", cut.tasks()},
                                             {"parts", cut.parts},
                                             {"part", cut.part},
                                             {"rows", cut.rows},
                                             {"channels", channels}}),
                    cuda_blocks(cut.tasks()),
                    query.op->cost(query.inputs, query.outputs, *query.attrs)));
  code.stages.emplace_back(channel_function(
      query,
      batch.types +
          cuda_text(kJoinMoments,
                    {{"moments", moments},
                     {"channels", channels},
                     {"parts", cut.parts},
                     {"part", number(static_cast<double>(cut.part))},
                     {"last", number(static_cast<double>(
                                  cut.rows - (cut.parts - 1) * cut.part))},
                     {"count", number(count)},
                     {"share",
                      number(unbiased ? count / std::max(1.0, count - 1) : 1)},
                     {"epsilon", number(batch.epsilon)},
                     {"gamma", gamma_text(form)},
                     {"beta", beta_text(form)}}),
      (channels + 15) / 16, moments));
  code.stages.emplace_back(
      elements_function(query, batch, moments, "", normalize_text(channels)));
  return code;
}

Result<cuda::OpCode> batch_norm_grad_code(const KernelQuery& query,
                                          const CudaSettings& settings) {
  const Batch batch = batch_of(query);
  const NormForm& form = batch.form;
  const ColumnCut& cut = batch.cut;
  if (batch.shape.elements() == 0) {
    return no_rows_code(query, form, batch.shape);
  }
  if (auto made = library_norm(query, settings, form)) {
    return *std::move(made);
  }
  const std::int64_t channels = batch.shape.channels;
  const std::int64_t moments = 2 * channels * cut.parts;
  cuda::OpCode code;
  code.name = fmt::format("{}:cuda:{}", query.op->name, cut.name());
  code.scratch_bytes = (moments + 3 * channels) * size_of(batch.compute);
  code.stages.emplace_back(cuda_function(
      query,
      batch.types + gradient_sums_text(form, batch.shape, cut, batch.epsilon,
                                       batch.compute),
      cuda_blocks(cut.tasks()),
      query.op->cost(query.inputs, query.outputs, *query.attrs)));
  const bool given = form.kind == NormKind::inference;
  std::string deviation = fmt::format("in{}[c]", form.deviation);
  if (given) {
    deviation = fmt::format("div((C)1, root(add({}, {})))", deviation,
                            batch.number(batch.epsilon));
  }
  const std::string text =
      cuda_text(kGradientFactors,
                {{"moments", moments},
                 {"channels", channels},
                 {"deviation", deviation},
                 {"gamma", gamma_text(form)},
                 {"count", batch.number(static_cast<double>(cut.rows))}}) +
      write_sum_text(form.dbeta, "sum") + write_sum_text(form.dgamma, "dot");
  code.stages.emplace_back(
      channel_function(query, batch.types + join_sums_text(cut, text),
                       (channels + 15) / 16, moments));
  const std::string value =
      given ? "mul((C)load(v.v[k]), factors[c])"
            : fmt::format(
                  "add(add(mul((C)load(v.v[k]), factors[c]), "
                  "mul(sub((C)load(x.v[k]), in{0}[c]), factors[{1} + c])), "
                  "factors[2 * {1} + c])",
                  form.mean, channels);
  const std::int64_t width = cuda_width(size_of(batch.dtype), channels);
  const std::string read =
      given ? ""
            : fmt::format("    const Vec<T, {0}> x = read<{0}>(in1 + i);\n",
                          width);
  code.stages.emplace_back(
      elements_function(query, batch, moments, read, value));
  return code;
}

}  // namespace plimsoll::ops
