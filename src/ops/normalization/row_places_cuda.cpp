#include "ops/normalization/row_places_cuda.h"

#include <fmt/core.h>

#include "ops/normalization/column_sums_cuda.h"

namespace plimsoll::ops {
namespace {

// Teams within a warp go at their own pace.
constexpr std::string_view kLoop =
    R"(    for (I row = $first + threadIdx.x / $team; row < $end; row += $step) {
      const I n = $n;
$text    }
)";

constexpr std::string_view kLoopInStep =
    R"(    for (I from = $first; from < $end; from += $step) {
      const I own = from + threadIdx.x / $team;
      const I row = own < $end ? own : from;
      const I n = own < $end ? $n : 0;
$text    }
)";

}  // namespace

RowPlaces row_places(const NormShape& shape, DType dtype) {
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

RowTeam share_row(std::int64_t rows, std::int64_t n, std::int64_t width,
                  std::int64_t most, std::int64_t most_threads) {
  RowTeam best;
  for (std::int64_t threads = 4; threads <= most_threads; threads *= 2) {
    const RowTeam team{threads, (n + threads * width - 1) / (threads * width)};
    if (team.rounds > most) continue;
    const bool busy = rows / best.in_block() >= kBusyBlocks;
    if (best.rounds == 0 || team.places() < best.places() ||
        (team.places() == best.places() && !busy)) {
      best = team;
    }
  }
  return best;
}

std::string row_loop(const RowTeam& team, const NormShape& shape,
                     std::string_view first, std::string_view end,
                     std::string_view step, std::string_view text) {
  return cuda_text(team.threads > 32 ? kLoopInStep : kLoop,
                   {{"team", team.threads},
                    {"n", shape.count()},
                    {"first", first},
                    {"end", end},
                    {"step", step},
                    {"text", text}});
}

std::string each_of_row(const RowTeam& team, const NormShape& shape,
                        std::int64_t width) {
  if (team.rounds == 0) {
    return fmt::format(
        "    for (I j = Threads::lane() * {0}; j < n; j += Threads::size * "
        "{0})",
        width);
  }
  const bool whole = team.rounds * team.threads * width == shape.count();
  return fmt::format(
      "#pragma unroll\n    for (int i = 0; i < {}; ++i)\n      if (const I j = "
      "(i * Threads::size + Threads::lane()) * {}; {})",
      team.rounds, width, whole ? "n > 0" : "j < n");
}

cuda::OpCode row_op(const graph::KernelQuery& query, const NormForm& form,
                    const NormShape& shape, const RowTeam& team,
                    std::string_view text) {
  std::string name =
      fmt::format("{}:cuda:rows={}", query.op->name, team.threads);
  if (shape.elements() == 0) return no_rows_code(query, form, shape);
  const std::int64_t teams = team.in_block();
  const std::int64_t rows = shape.statistics();
  return cuda_op(
      query, std::move(name),
      norm_types_text(query, form, shape) +
          fmt::format("  typedef Team<{}> Threads;\n", team.threads) +
          row_loop(team, shape, fmt::format("(I)block * {}", teams),
                   fmt::format("{}", rows),
                   fmt::format("(I)blocks * {}", teams), text),
      cuda_blocks((rows + teams - 1) / teams));
}

std::string row_parameters_text(const NormForm& form, const RowPlaces& places) {
  std::string text;
  const auto read = [&](std::string_view name, int input) {
    if (input < 0) return;
    text += fmt::format(
        "      const Vec<C, {0}> {1} = read_as<{0}, C>(in{2} + ({3}));\n",
        places.width, name, input, places.channel);
  };
  read("gamma", form.gamma);
  read("beta", form.beta);
  return text;
}

std::string_view row_gamma_text(const NormForm& form) {
  return form.gamma < 0 ? "(C)1" : "gamma.v[k]";
}

std::string_view row_beta_text(const NormForm& form) {
  return form.beta < 0 ? "(C)0" : "beta.v[k]";
}

}  // namespace plimsoll::ops
