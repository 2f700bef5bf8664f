// First values of parameters, as Keras defines them. Element i of a fill is a
// function of (seed, stream, i) alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/shape.h"

namespace plimsoll::ops {

// `stream` tells the tensors of one seed apart; a fill may begin at any
// element of its tensor.
struct RandomStream {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::uint64_t first = 0;
};

void fill_uniform(std::span<float> values, RandomStream stream, double low,
                  double high);
void fill_uniform(std::span<double> values, RandomStream stream, double low,
                  double high);
void fill_normal(std::span<float> values, RandomStream stream, double mean,
                 double deviation);
void fill_normal(std::span<double> values, RandomStream stream, double mean,
                 double deviation);
// Values further than two deviations from the mean are drawn again.
void fill_truncated_normal(std::span<float> values, RandomStream stream,
                           double mean, double deviation);
void fill_truncated_normal(std::span<double> values, RandomStream stream,
                           double mean, double deviation);

enum class Initializer : std::uint8_t {
  zeros,
  ones,
  random_uniform,    // [-0.05, 0.05)
  random_normal,     // deviation 0.05
  truncated_normal,  // deviation 0.05
  glorot_uniform,
  glorot_normal,
  he_uniform,
  he_normal,
  lecun_uniform,
  lecun_normal,
};
std::string_view name_of(Initializer initializer);
std::optional<Initializer> parse_initializer(std::string_view name);

struct Fans {
  double in = 1;
  double out = 1;
};
// Of a fixed shape: [in, out], or leading axes as a receptive field.
Fans fans_of(const Shape& shape);

void initialize(std::span<float> values, Initializer initializer, Fans fans,
                RandomStream stream);
void initialize(std::span<double> values, Initializer initializer, Fans fans,
                RandomStream stream);

}  // namespace plimsoll::ops
