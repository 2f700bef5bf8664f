// Layer, rms and group normalization: a team of threads has all elements of a
// statistic.
#include <fmt/core.h>

#include <algorithm>

#include "ops/normalization/column_sums_cuda.h"
#include "ops/normalization/norm_codes_cuda.h"
#include "ops/softmax/rows_cuda.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

// Elements are read again instead of kept, as in softmax. The mean is in two
// parts: elements less the first are exact where they are close to it.
constexpr std::string_view kMiddle = R"(    C sum = 0;
    for (I j = Threads::lane() * $V; j < n; j += Threads::size * $V) {
      const Vec<T, $V> x = read<$V>(in0 + base + $at);
#pragma unroll
      for (int k = 0; k < $V; ++k) sum = add(sum, (C)load(x.v[k]));
    }
    const C middle = div(Threads::join<Sum>(sum), (C)n);
)";

constexpr std::string_view kForward = R"(    const I base = $base;
$middle    C left = 0, squares = 0;
    for (I j = Threads::lane() * $V; j < n; j += Threads::size * $V) {
      const Vec<T, $V> x = read<$V>(in0 + base + $at);
#pragma unroll
      for (int k = 0; k < $V; ++k) {
        const C d = sub((C)load(x.v[k]), middle);
        left = add(left, d);
        squares = mul_add(d, d, squares);
      }
    }
    squares = div(Threads::join<Sum>(squares), (C)n);
    const C rest = $rest;
    C variance = sub(squares, mul(rest, rest));
    if (variance < (C)0) variance = 0;
    const C deviation = div((C)1, root(add(variance, $epsilon)));
    for (I j = Threads::lane() * $V; j < n; j += Threads::size * $V) {
      Vec<T, $V> x = read<$V>(in0 + base + $at);
#pragma unroll
      for (int k = 0; k < $V; ++k) {
        const I c = $channel + k;
        const C d = sub(sub((C)load(x.v[k]), middle), rest);
        x.v[k] = store<T>(add(mul(mul(d, deviation), $gamma), $beta));
      }
      write<$V>(out0 + base + $at, x);
    }
    if (Threads::lane() == 0) {
$write_mean      out$deviation[row] = deviation;
    }
)";

constexpr std::string_view kBackward = R"(    const I base = $base;
    const C mean = $mean, deviation = in$deviation[row];
    C level = 0, slope = 0;
    for (I j = Threads::lane() * $V; j < n; j += Threads::size * $V) {
      const Vec<T, $V> dy = read<$V>(in0 + base + $at);
      const Vec<T, $V> x = read<$V>(in1 + base + $at);
#pragma unroll
      for (int k = 0; k < $V; ++k) {
        const I c = $channel + k;
        const C normal = mul(sub((C)load(x.v[k]), mean), deviation);
        const C scaled = mul((C)load(dy.v[k]), $gamma);
        level = add(level, scaled);
        slope = mul_add(scaled, normal, slope);
      }
    }
    level = $level;
    slope = div(Threads::join<Sum>(slope), (C)n);
    for (I j = Threads::lane() * $V; j < n; j += Threads::size * $V) {
      Vec<T, $V> dy = read<$V>(in0 + base + $at);
      const Vec<T, $V> x = read<$V>(in1 + base + $at);
#pragma unroll
      for (int k = 0; k < $V; ++k) {
        const I c = $channel + k;
        const C normal = mul(sub((C)load(x.v[k]), mean), deviation);
        const C scaled = mul((C)load(dy.v[k]), $gamma);
        dy.v[k] = store<T>(
            mul(sub(sub(scaled, level), mul(normal, slope)), deviation));
      }
      write<$V>(out0 + base + $at, dy);
    }
)";

// Where the elements of statistic number `row` lie.
struct Places {
  std::string base;     // its first
  std::string at;       // number j, from there
  std::string channel;  // of number j
  std::int64_t width = 1;
};

Places places_of(const NormShape& shape, DType dtype) {
  const std::int64_t run = shape.width();
  const std::int64_t width = cuda_width(size_of(dtype), run);
  // All of a segment: its elements lie one after another.
  if (shape.groups == 1) {
    return {fmt::format("row * n"), fmt::format("j"),
            shape.rows == 1 ? fmt::format("j") : fmt::format("j % {}", run),
            width};
  }
  return {fmt::format("row / {} * {} + row % {} * {}", shape.groups,
                      shape.rows * shape.channels, shape.groups, run),
          fmt::format("(j / {} * {} + j % {})", run, shape.channels, run),
          fmt::format("row % {} * {} + j % {}", shape.groups, run, run), width};
}

graph::TensorType rows_of(const NormShape& shape, DType dtype) {
  return {dtype, Shape{shape.segments * shape.groups, shape.count()}};
}

}  // namespace

Result<cuda::OpCode> row_norm_code(const KernelQuery& query,
                                   const CudaSettings&) {
  const NormForm form = norm_form(query.op->name, *query.attrs);
  const graph::TensorType& x = query.inputs[0];
  const NormShape shape = norm_shape(form.kind, x.shape, *query.attrs);
  const Places places = places_of(shape, x.dtype);
  const bool has_mean = form.mean_out >= 0;
  const std::string middle =
      has_mean ? cuda_text(kMiddle, {{"V", places.width}, {"at", places.at}})
               : "    const C middle = 0;\n";
  const std::string write_mean =
      has_mean ? fmt::format("      out{}[row] = add(middle, rest);\n",
                             form.mean_out)
               : "";
  return rows_cuda(
      query, rows_of(shape, x.dtype),
      cuda_text(
          kForward,
          {{"V", places.width},
           {"base", places.base},
           {"at", places.at},
           {"channel", places.channel},
           {"middle", middle},
           {"rest", has_mean ? "div(Threads::join<Sum>(left), (C)n)" : "(C)0"},
           {"epsilon", cuda_number(wide_dtype(x.dtype),
                                   query.attrs->get<double>("epsilon"))},
           {"gamma", gamma_text(form)},
           {"beta", beta_text(form)},
           {"write_mean", write_mean},
           {"deviation", form.deviation_out}}));
}

Result<cuda::OpCode> row_norm_grad_code(const KernelQuery& query,
                                        const CudaSettings&) {
  const NormForm form = norm_form(query.op->name, *query.attrs);
  const graph::TensorType& x = query.inputs[1];
  const NormShape shape = norm_shape(form.kind, x.shape, *query.attrs);
  const Places places = places_of(shape, x.dtype);
  const bool has_mean = form.mean >= 0;
  cuda::OpCode code = rows_cuda(
      query, rows_of(shape, x.dtype),
      cuda_text(kBackward,
                {{"V", places.width},
                 {"base", places.base},
                 {"at", places.at},
                 {"channel", places.channel},
                 {"mean", has_mean ? fmt::format("in{}[row]", form.mean)
                                   : std::string("(C)0")},
                 {"level",
                  has_mean ? "div(Threads::join<Sum>(level), (C)n)" : "(C)0"},
                 {"gamma", gamma_text(form)},
                 {"deviation", form.deviation}}));
  if (shape.elements() == 0 || (form.dgamma < 0 && form.dbeta < 0)) {
    return code;
  }
  // Sums come first: dx may take the place of what they are of.
  const ColumnCut cut = cut_columns(shape.all_rows(), shape.channels);
  const DType compute = wide_dtype(x.dtype);
  code.name += fmt::format(",{}", cut.name());
  code.scratch_bytes = 2 * cut.channels * cut.parts * size_of(compute);
  auto& last = std::get<cuda::Function>(code.stages[0]);
  std::string text;
  if (form.dbeta >= 0) {
    text += fmt::format("      out{}[c] = store<P>(sum);\n", form.dbeta);
  }
  if (form.dgamma >= 0) {
    text += fmt::format("      out{}[c] = store<P>(dot);\n", form.dgamma);
  }
  const std::string types = norm_types_text(query, form, shape);
  last.body = fmt::format("  {{\n{}  }}\n{}{}", last.body, types,
                          join_sums_text(cut, text));
  last.blocks = std::max(last.blocks, cuda_blocks((cut.channels + 15) / 16));
  code.stages.insert(
      code.stages.begin(),
      cuda_function(query,
                    types + gradient_sums_text(form, shape, cut, 0, compute),
                    cuda_blocks(cut.tasks()),
                    query.op->cost(query.inputs, query.outputs, *query.attrs)));
  return code;
}

}  // namespace plimsoll::ops
