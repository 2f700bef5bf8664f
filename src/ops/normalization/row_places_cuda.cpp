#include "ops/normalization/row_places_cuda.h"

#include <fmt/core.h>

namespace plimsoll::ops {

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

graph::TensorType rows_of(const NormShape& shape, DType dtype) {
  return {dtype, Shape{shape.segments * shape.groups, shape.count()}};
}

std::int64_t row_rounds(std::int64_t n, std::int64_t team, std::int64_t width) {
  return (n + team * width - 1) / (team * width);
}

std::string each_of_row(std::int64_t rounds, std::int64_t width) {
  if (rounds == 0) {
    return fmt::format(
        "    for (I j = Threads::lane() * {0}; j < n; j += Threads::size * "
        "{0})",
        width);
  }
  return fmt::format(
      "#pragma unroll\n    for (int i = 0; i < {}; ++i)\n      if (const I j = "
      "(i * Threads::size + Threads::lane()) * {}; j < n)",
      rounds, width);
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
