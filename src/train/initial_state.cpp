#include "train/initial_state.h"

#include <algorithm>

#include "ops/random/initializers.h"

namespace plimsoll::train {
namespace {

template <class T>
std::span<T> values_of(std::span<std::byte> bytes) {
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

}  // namespace

void initialize(const Parameter& parameter, DType dtype, std::int64_t seed,
                int position, std::int64_t first, std::span<std::byte> bytes) {
  const auto initializer = ops::parse_initializer(parameter.initializer)
                               .value_or(ops::Initializer::zeros);
  const ops::Fans fans{static_cast<double>(parameter.fan_in),
                       static_cast<double>(parameter.fan_out)};
  const ops::RandomStream stream{static_cast<std::uint64_t>(seed),
                                 static_cast<std::uint64_t>(position),
                                 static_cast<std::uint64_t>(first)};
  const auto fill = [&](auto values) {
    ops::initialize(values, initializer, fans, stream);
    const auto here = [&](std::int64_t element) {
      return std::clamp<std::int64_t>(element - first, 0, std::ssize(values));
    };
    std::fill(values.begin() + here(parameter.ones_begin),
              values.begin() + here(parameter.ones_end), 1);
  };
  if (dtype == DType::f64) {
    fill(values_of<double>(bytes));
  } else {
    fill(values_of<float>(bytes));
  }
}

void fill_with(std::span<std::byte> bytes, DType dtype, double value) {
  if (dtype == DType::f64) {
    const auto values = values_of<double>(bytes);
    std::fill(values.begin(), values.end(), value);
  } else if (dtype == DType::f32) {
    const auto values = values_of<float>(bytes);
    std::fill(values.begin(), values.end(), static_cast<float>(value));
  }
}

}  // namespace plimsoll::train
