#include "ops/random/initializers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/philox.h"

namespace plimsoll::ops {
namespace {

// Deviation of a unit normal that is cut at two deviations.
constexpr double kTruncatedDeviation = 0.87962566103423978;
constexpr double kTruncation = 2.0;
constexpr double kSmall = 0.05;

constexpr std::array<std::string_view, 11> kNames = {"zeros",
                                                     "ones",
                                                     "random_uniform",
                                                     "random_normal",
                                                     "truncated_normal",
                                                     "glorot_uniform",
                                                     "glorot_normal",
                                                     "he_uniform",
                                                     "he_normal",
                                                     "lecun_uniform",
                                                     "lecun_normal"};
static_assert(kNames.size() ==
              static_cast<std::size_t>(Initializer::lecun_normal) + 1);

double uniform(PhiloxBlock words) { return uniform_double(words[0], words[1]); }

// Box and Muller; 1 - u keeps the logarithm finite.
double normal(PhiloxBlock words) {
  const double radius =
      std::sqrt(-2 * std::log(1 - uniform_double(words[0], words[1])));
  return radius *
         std::cos(2 * std::numbers::pi * uniform_double(words[2], words[3]));
}

// Element and attempt share the counter; a try is accepted with 95 %.
PhiloxBlock draw(RandomStream stream, std::size_t element,
                 std::uint64_t attempt = 0) {
  return philox(
      stream.seed, stream.stream,
      (stream.first + static_cast<std::uint64_t>(element)) | (attempt << 48));
}

template <class T>
void uniform_fill(std::span<T> values, RandomStream stream, double low,
                  double high) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<T>(low + (high - low) * uniform(draw(stream, i)));
  }
}

template <class T>
void normal_fill(std::span<T> values, RandomStream stream, double mean,
                 double deviation) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<T>(mean + deviation * normal(draw(stream, i)));
  }
}

template <class T>
void truncated_fill(std::span<T> values, RandomStream stream, double mean,
                    double deviation) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    double value = normal(draw(stream, i));
    for (std::uint64_t attempt = 1; std::abs(value) > kTruncation; ++attempt) {
      value = normal(draw(stream, i, attempt));
    }
    values[i] = static_cast<T>(mean + deviation * value);
  }
}

// Uniform or truncated normal of the given variance.
template <class T>
void scaled_fill(std::span<T> values, RandomStream stream, bool is_uniform,
                 double variance) {
  if (is_uniform) {
    const double limit = std::sqrt(3 * variance);
    uniform_fill(values, stream, -limit, limit);
  } else {
    truncated_fill(values, stream, 0,
                   std::sqrt(variance) / kTruncatedDeviation);
  }
}

template <class T>
void initialize_as(std::span<T> values, Initializer initializer, Fans fans,
                   RandomStream stream) {
  const double in = std::max(1.0, fans.in);
  const double both = std::max(1.0, (fans.in + fans.out) / 2);
  switch (initializer) {
    case Initializer::zeros:
      return std::fill(values.begin(), values.end(), T(0));
    case Initializer::ones:
      return std::fill(values.begin(), values.end(), T(1));
    case Initializer::random_uniform:
      return uniform_fill(values, stream, -kSmall, kSmall);
    case Initializer::random_normal:
      return normal_fill(values, stream, 0, kSmall);
    case Initializer::truncated_normal:
      return truncated_fill(values, stream, 0, kSmall);
    case Initializer::glorot_uniform:
    case Initializer::glorot_normal:
      return scaled_fill(values, stream,
                         initializer == Initializer::glorot_uniform, 1 / both);
    case Initializer::he_uniform:
    case Initializer::he_normal:
      return scaled_fill(values, stream, initializer == Initializer::he_uniform,
                         2 / in);
    case Initializer::lecun_uniform:
    case Initializer::lecun_normal:
      return scaled_fill(values, stream,
                         initializer == Initializer::lecun_uniform, 1 / in);
  }
}

}  // namespace

void fill_uniform(std::span<float> values, RandomStream stream, double low,
                  double high) {
  uniform_fill(values, stream, low, high);
}
void fill_uniform(std::span<double> values, RandomStream stream, double low,
                  double high) {
  uniform_fill(values, stream, low, high);
}
void fill_normal(std::span<float> values, RandomStream stream, double mean,
                 double deviation) {
  normal_fill(values, stream, mean, deviation);
}
void fill_normal(std::span<double> values, RandomStream stream, double mean,
                 double deviation) {
  normal_fill(values, stream, mean, deviation);
}
void fill_truncated_normal(std::span<float> values, RandomStream stream,
                           double mean, double deviation) {
  truncated_fill(values, stream, mean, deviation);
}
void fill_truncated_normal(std::span<double> values, RandomStream stream,
                           double mean, double deviation) {
  truncated_fill(values, stream, mean, deviation);
}

std::string_view name_of(Initializer initializer) {
  return kNames[static_cast<std::size_t>(initializer)];
}

std::optional<Initializer> parse_initializer(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Initializer>(found - kNames.begin());
}

Fans fans_of(const Shape& shape) {
  if (shape.rank() == 0) return {};
  if (shape.rank() == 1) {
    const auto size = static_cast<double>(shape.extent(0));
    return {size, size};
  }
  double field = 1;
  for (int axis = 0; axis < shape.rank() - 2; ++axis) {
    field *= static_cast<double>(shape.extent(axis));
  }
  return {field * static_cast<double>(shape.extent(-2)),
          field * static_cast<double>(shape.extent(-1))};
}

void initialize(std::span<float> values, Initializer initializer, Fans fans,
                RandomStream stream) {
  initialize_as(values, initializer, fans, stream);
}
void initialize(std::span<double> values, Initializer initializer, Fans fans,
                RandomStream stream) {
  initialize_as(values, initializer, fans, stream);
}

}  // namespace plimsoll::ops
