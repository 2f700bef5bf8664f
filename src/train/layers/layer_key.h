// A key of a layer in a job file: which field it fills and with what.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "plimsoll/layers.h"

namespace plimsoll::train {

using Names = std::span<const std::string_view>;

struct IntegerRange {
  std::int64_t least = 1;
  std::int64_t most = std::numeric_limits<std::int32_t>::max();

  bool holds(std::int64_t value) const {
    return value >= least && value <= most;
  }
};

// Bounds of a real; the upper one is not part of the range.
struct RealRange {
  double least = 0;
  double below = std::numeric_limits<double>::infinity();
  bool least_is_outside = false;  // "above 0" rather than "at least 0"

  bool holds(double value) const;  // never what is not finite
};
inline constexpr RealRange kAboveZero = {.least = 0, .least_is_outside = true};
inline constexpr RealRange kFraction = {.least = 0, .below = 1};

// "an integer from 1 to 8", "a number above 0"
std::string wording(const IntegerRange& range);
std::string wording(const RealRange& range);

struct LayerKey {
  using Field =
      std::variant<bool Layer::*, std::int64_t Layer::*, double Layer::*,
                   std::string Layer::*, Size2 Layer::*,
                   std::vector<std::int64_t> Layer::*, Padding Layer::*>;

  std::string_view key;
  Field field;
  // What a layer without it lacks ("`units`, the number of its outputs");
  // empty: it may be left out.
  std::string_view needed = {};
  IntegerRange integers = {};  // that a whole number may be
  RealRange reals = {};        // that another number may be
  // The only words there are, and what they name ("activation").
  Names (*names)() = nullptr;
  std::string_view what = {};
};

Names activations();
Names initializers();

// Keys that several types have.
namespace keys {
inline constexpr LayerKey kActivation = {.key = "activation",
                                         .field = &Layer::activation,
                                         .names = activations,
                                         .what = "activation"};
inline constexpr LayerKey kNegativeSlope = {.key = "negative_slope",
                                            .field = &Layer::negative_slope};
inline constexpr LayerKey kUseBias = {.key = "use_bias",
                                      .field = &Layer::use_bias};
inline constexpr LayerKey kKernelInitializer = {
    .key = "kernel_initializer",
    .field = &Layer::kernel_initializer,
    .names = initializers,
    .what = "initializer"};
inline constexpr LayerKey kBiasInitializer = {.key = "bias_initializer",
                                              .field = &Layer::bias_initializer,
                                              .names = initializers,
                                              .what = "initializer"};
inline constexpr LayerKey kEmbeddingsInitializer = {
    .key = "embeddings_initializer",
    .field = &Layer::embeddings_initializer,
    .names = initializers,
    .what = "initializer"};
}  // namespace keys

}  // namespace plimsoll::train
