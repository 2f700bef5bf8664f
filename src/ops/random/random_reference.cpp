#include "ops/random/random_reference.h"

#include <array>
#include <cmath>
#include <numbers>

#include "ops/random/dropout_mask.h"

namespace plimsoll::ops {
namespace {

void dropout(const std::vector<RefTensor>& inputs, const graph::Attrs& attrs,
             std::vector<RefTensor>& outputs) {
  const double rate = attrs.get<double>("rate");
  const std::uint64_t key =
      random_key(static_cast<std::uint64_t>(attrs.get<std::int64_t>("seed")),
                 static_cast<std::uint64_t>(attrs.get<std::int64_t>("op_id")));
  const auto step = static_cast<std::uint64_t>(
      static_cast<std::int64_t>(inputs[1].values[0]));
  const std::uint32_t threshold = dropout_threshold(rate);
  for (std::size_t i = 0; i < inputs[0].values.size(); ++i) {
    outputs[0].values[i] = dropout_keeps(key, step, threshold, i)
                               ? inputs[0].values[i] / (1 - rate)
                               : 0;
  }
}

// The first `bits` of an element's 64 random ones, as a number below 1.
struct Draws {
  std::uint64_t key;
  std::uint64_t step;

  std::uint64_t word(std::uint64_t element) const {
    return std::uint64_t{random_word(key, step, element)} << 32 |
           random_word(lower_key(key), step, element);
  }
  double unit(std::uint64_t element, int bits) const {
    return std::ldexp(static_cast<double>(word(element) >> (64 - bits)), -bits);
  }
};

Draws draws_of(const std::vector<RefTensor>& inputs,
               const graph::Attrs& attrs) {
  const auto number = [&](const char* name) {
    return static_cast<std::uint64_t>(attrs.get<std::int64_t>(name));
  };
  return {random_key(number("seed"), number("op_id")),
          static_cast<std::uint64_t>(
              static_cast<std::int64_t>(inputs[0].values[0]))};
}

int bits_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 53;
    case DType::bf16:
      return 8;
    case DType::f16:
      return 11;
    default:
      return 24;
  }
}

void uniform(const std::vector<RefTensor>& inputs, const graph::Attrs& attrs,
             std::vector<RefTensor>& outputs) {
  const Draws draws = draws_of(inputs, attrs);
  const double low = attrs.get<double>("low");
  const double high = attrs.get<double>("high");
  const int bits = bits_of(outputs[0].type.dtype);
  for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
    outputs[0].values[i] = low + (high - low) * draws.unit(i, bits);
  }
}

// Elements 16 apart are the two coordinates of one point.
void normal(const std::vector<RefTensor>& inputs, const graph::Attrs& attrs,
            std::vector<RefTensor>& outputs) {
  const Draws draws = draws_of(inputs, attrs);
  const bool wide = outputs[0].type.dtype == DType::f64;
  const int bits = wide ? 53 : 24;
  for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
    const bool second = i / 16 % 2 == 1;
    const std::size_t first = second ? i - 16 : i;
    const double u = draws.unit(first, bits) + std::ldexp(1.0, -bits);
    const double turn =
        2 * std::numbers::pi * draws.unit(first + 16, wide ? 64 : 32);
    outputs[0].values[i] = attrs.get<double>("mean") +
                           attrs.get<double>("deviation") *
                               std::sqrt(-2 * std::log(u)) *
                               (second ? std::sin(turn) : std::cos(turn));
  }
}

}  // namespace

std::span<const Reference> random_references() {
  static constexpr std::array<Reference, 3> references = {{
      {"dropout", dropout},
      {"random_uniform", uniform},
      {"random_normal", normal},
  }};
  return references;
}

}  // namespace plimsoll::ops
