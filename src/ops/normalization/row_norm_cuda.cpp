// Layer, rms and group normalization, forward: a team of threads has all
// elements of a statistic.
#include <fmt/core.h>

#include "ops/normalization/norm_codes_cuda.h"
#include "ops/normalization/norm_library_cuda.h"
#include "ops/normalization/row_places_cuda.h"
#include "ops/softmax/rows_cuda.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

// The mean is in two parts: elements less the first are exact where they are
// close to it.
constexpr std::string_view kMiddle = R"(    C sum = 0;
$each {
      const Vec<T, $V> x = $x;
#pragma unroll
      for (int k = 0; k < $V; ++k) sum = add(sum, (C)load(x.v[k]));
    }
    const C middle = div(Threads::join<Sum>(sum), (C)$n);
)";

constexpr std::string_view kForward = R"(    const I base = $base;
$hold$middle    C left = 0, squares = 0;
$each {
      const Vec<T, $V> x = $x;
#pragma unroll
      for (int k = 0; k < $V; ++k) {
        const C d = sub((C)load(x.v[k]), middle);
        left = add(left, d);
        squares = mul_add(d, d, squares);
      }
    }
    $join;
    squares = div(squares, (C)$n);
    const C rest = $rest;
    C variance = sub(squares, mul(rest, rest));
    if (variance < (C)0) variance = 0;
    const C deviation = div((C)1, root(add(variance, $epsilon)));
$each {
      Vec<T, $V> x = $x;
$parameters#pragma unroll
      for (int k = 0; k < $V; ++k) {
        const C d = sub(sub((C)load(x.v[k]), middle), rest);
        x.v[k] = store<T>(add(mul(mul(d, deviation), $gamma), $beta));
      }
      write<$V>(out0 + base + $at, x);
    }
    if (Threads::lane() == 0 && n > 0) {
$write_mean      out$deviation[row] = deviation;
    }
)";

// A thread's elements, all read before the first is needed; where they are too
// many to be held, or in groups, they are read again, as in softmax.
constexpr std::int64_t kHeldBytes = 64;
constexpr std::int64_t kMostHeldBytes = 128;

constexpr std::string_view kHold = R"(    Vec<T, $V> held[$rounds];
$each held[i] = read<$V>(in0 + base + $at);
)";

}  // namespace

Result<cuda::OpCode> row_norm_code(const KernelQuery& query,
                                   const CudaSettings& settings) {
  const NormForm form = norm_form(query.op->name, *query.attrs);
  if (auto made = library_norm(query, settings, form)) return *std::move(made);
  const graph::TensorType& x = query.inputs[0];
  const NormShape shape = norm_shape(form.kind, x.shape, *query.attrs);
  const RowPlaces places = row_places(shape, x.dtype);
  RowTeam team;
  for (const std::int64_t bytes : {kHeldBytes, kMostHeldBytes}) {
    if (form.kind == NormKind::group || team.rounds > 0) break;
    team = share_row(shape.statistics(), shape.count(), places.width,
                     bytes / (places.width * size_of(x.dtype)));
  }
  const bool held = team.rounds > 0;
  if (!held) team.threads = rows_team(shape.count());
  const bool has_mean = form.mean_out >= 0;
  const std::string write_mean =
      has_mean ? fmt::format("      out{}[row] = add(middle, rest);\n",
                             form.mean_out)
               : "";
  const std::string text = cuda_text(
      kForward, {{"hold", held ? kHold : ""},
                 {"middle", has_mean ? kMiddle : "    const C middle = 0;\n"},
                 {"parameters", row_parameters_text(form, places)},
                 {"rest", has_mean ? "div(left, (C)$n)" : "(C)0"},
                 {"join", has_mean ? "Threads::join_both<Sum>(left, squares)"
                                   : "squares = Threads::join<Sum>(squares)"},
                 {"write_mean", write_mean}});
  const std::string row = cuda_text(
      text, {{"V", places.width},
             {"n", shape.count()},
             {"rounds", team.rounds},
             {"base", places.base},
             {"at", places.at},
             {"each", each_of_row(team, shape, places.width)},
             {"x", held ? "held[i]"
                        : fmt::format("read<{}>(in0 + base + {})", places.width,
                                      places.at)},
             {"epsilon", cuda_number(wide_dtype(x.dtype),
                                     query.attrs->get<double>("epsilon"))},
             {"gamma", row_gamma_text(form)},
             {"beta", row_beta_text(form)},
             {"deviation", form.deviation_out}});
  return row_op(query, form, shape, team, row);
}

}  // namespace plimsoll::ops
