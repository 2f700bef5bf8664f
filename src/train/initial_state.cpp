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
  if (dtype == DType::f64) {
    ops::initialize(values_of<double>(bytes), initializer, fans, stream);
  } else {
    ops::initialize(values_of<float>(bytes), initializer, fans, stream);
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
