#include "ops/normalization/column_sums_cuda.h"

#include <fmt/core.h>

#include <algorithm>

namespace plimsoll::ops {
namespace {

constexpr std::int64_t kPartRounds = 16;  // rows of a thread, at the least

constexpr std::string_view kDown = R"(  C* lanes = shared_lanes<C>();
  const auto down = [&](C value) {
    lanes[threadIdx.x] = value;
    for (u32 half = 256; half >= $team; half >>= 1) {
      __syncthreads();
      if (threadIdx.x < half) {
        lanes[threadIdx.x] =
            add(lanes[threadIdx.x], lanes[threadIdx.x + half]);
      }
    }
    __syncthreads();
    value = lanes[threadIdx.x % $team];
    __syncthreads();
    return value;
  };
)";

// Long sums go through a second one, so that no chain of additions is long.
constexpr std::string_view kGradientSums =
    R"(  for (I task = block; task < $tasks; task += blocks) {
    const I c = task / $parts * $team + threadIdx.x % $team;
    const I p = task % $parts;
    const I end = (p + 1) * $part < $rows ? (p + 1) * $part : $rows;
    C sum = 0, dot = 0;
    if (c < $channels) {
$of_channel
      for (I r = p * $part + threadIdx.x / $team; r < end;) {
        C some = 0, more = 0;
#pragma unroll 4
        for (int k = 0; k < 64 && r < end; ++k, r += 512 / $team) {
$of_row
          const C flow = load(in0[r * $channels + c]);
          const C x = load(in1[r * $channels + c]);
          some = add(some, flow);
          more = mul_add(flow, mul(sub(x, mean), deviation), more);
        }
        sum = add(sum, some);
        dot = add(dot, more);
      }
    }
    sum = down(sum);
    dot = down(dot);
    if (threadIdx.x < $team && c < $channels) {
      ((C*)scratch)[c * $parts + p] = sum;
      ((C*)scratch)[($channels + c) * $parts + p] = dot;
    }
  }
)";

constexpr std::string_view kJoinSums =
    R"(  for (I c = block * 16 + threadIdx.x / 32; c < $channels;
       c += blocks * 16) {
    C sum = 0, dot = 0;
    for (I p = threadIdx.x % 32; p < $parts; p += 32) {
      sum = add(sum, ((const C*)scratch)[c * $parts + p]);
      dot = add(dot, ((const C*)scratch)[($channels + c) * $parts + p]);
    }
    sum = Team<32>::join<Sum>(sum);
    dot = Team<32>::join<Sum>(dot);
    if (threadIdx.x % 32 == 0) {
$text    }
  }
)";

constexpr std::string_view kEachChannel =
    R"(  for (I c = block * 512 + threadIdx.x; c < $channels;
       c += blocks * 512) {
$text  }
)";

}  // namespace

std::string ColumnCut::name() const {
  return fmt::format("columns={},parts={}", team, parts);
}

ColumnCut cut_columns(std::int64_t rows, std::int64_t channels) {
  ColumnCut cut;
  cut.rows = rows;
  cut.channels = channels;
  cut.team = std::min<std::int64_t>(32, cuda_power_of_two(channels));
  while (cut.team < 512 && 512 / cut.team > rows) cut.team *= 2;
  const std::int64_t piece = 512 / cut.team * kPartRounds;
  cut.parts = std::clamp<std::int64_t>(kBusyBlocks / cut.tasks(), 1,
                                       (rows + piece - 1) / piece);
  cut.part = (rows + cut.parts - 1) / cut.parts;
  cut.parts = (rows + cut.part - 1) / cut.part;
  return cut;
}

std::string norm_types_text(const graph::KernelQuery& query,
                            const NormForm& form, const NormShape& shape) {
  const DType dtype = query.inputs[0].dtype;
  DType parameters = dtype;
  if (form.gamma >= 0) {
    parameters = query.inputs[static_cast<std::size_t>(form.gamma)].dtype;
  } else if (form.dbeta >= 0) {
    parameters = query.outputs[static_cast<std::size_t>(form.dbeta)].dtype;
  }
  return fmt::format(
      "  typedef {} T;\n  typedef {} C;\n  typedef {} I;\n  typedef {} P;\n",
      cuda_type(dtype), cuda_type(wide_dtype(dtype)),
      cuda_index(shape.elements()), cuda_type(parameters));
}

std::string down_text(const ColumnCut& cut) {
  return cuda_text(kDown, {{"team", cut.team}});
}

std::string gamma_text(const NormForm& form) {
  return form.gamma < 0 ? "(C)1" : fmt::format("(C)load(in{}[c])", form.gamma);
}

std::string beta_text(const NormForm& form) {
  return form.beta < 0 ? "(C)0" : fmt::format("(C)load(in{}[c])", form.beta);
}

std::string gradient_sums_text(const NormForm& form, const NormShape& shape,
                               const ColumnCut& cut, double epsilon,
                               DType compute) {
  std::string at = "c";
  if (form.kind == NormKind::layer || form.kind == NormKind::rms) at = "r";
  if (form.kind == NormKind::group) {
    at = fmt::format("r / {} * {} + c / {}", shape.rows, shape.groups,
                     shape.width());
  }
  const std::string mean =
      form.mean < 0 ? "(C)0" : fmt::format("in{}[{}]", form.mean, at);
  std::string deviation = fmt::format("in{}[{}]", form.deviation, at);
  if (form.kind == NormKind::inference) {
    deviation = fmt::format("div((C)1, root(add({}, {})))", deviation,
                            cuda_number(compute, epsilon));
  }
  const std::string both = fmt::format(
      "          const C mean = {}, deviation = {};", mean, deviation);
  const bool of_channel = at == "c";
  return down_text(cut) +
         cuda_text(kGradientSums, {{"team", cut.team},
                                   {"tasks", cut.tasks()},
                                   {"parts", cut.parts},
                                   {"part", cut.part},
                                   {"rows", cut.rows},
                                   {"channels", cut.channels},
                                   {"of_channel", of_channel ? both : ""},
                                   {"of_row", of_channel ? "" : both}});
}

std::string join_sums_text(const ColumnCut& cut, const std::string& text) {
  return cuda_text(
      kJoinSums,
      {{"channels", cut.channels}, {"parts", cut.parts}, {"text", text}});
}

std::string write_sum_text(int output, std::string_view value) {
  if (output < 0) return {};
  return fmt::format("      out{}[c] = store<P>({});\n", output, value);
}

cuda::OpCode no_rows_code(const graph::KernelQuery& query, const NormForm& form,
                          const NormShape& shape) {
  std::string name = fmt::format("{}:cuda:rows=0", query.op->name);
  std::string text =
      write_sum_text(form.dbeta, "(C)0") + write_sum_text(form.dgamma, "(C)0");
  for (const int output :
       {form.mean_out, form.variance_out, form.deviation_out}) {
    if (output < 0) continue;
    text += fmt::format("      out{}[c] = nan_of<C>();\n", output);
  }
  const std::int64_t written =
      form.gradient ? shape.channels : shape.statistics();
  if (text.empty() || written == 0) {
    return cuda_op(query, std::move(name), "", 1);
  }
  return cuda_op(
      query, std::move(name),
      norm_types_text(query, form, shape) +
          cuda_text(kEachChannel, {{"channels", written}, {"text", text}}),
      cuda_blocks_of_threads(written));
}

}  // namespace plimsoll::ops
