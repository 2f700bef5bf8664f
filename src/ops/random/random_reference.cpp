#include "ops/random/random_reference.h"

#include <array>

#include "ops/random/dropout_mask.h"

namespace plimsoll::ops {
namespace {

void dropout(const std::vector<RefTensor>& inputs, const graph::Attrs& attrs,
             std::vector<RefTensor>& outputs) {
  const double rate = attrs.get<double>("rate");
  const std::uint64_t key =
      dropout_key(static_cast<std::uint64_t>(attrs.get<std::int64_t>("seed")),
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

}  // namespace

std::span<const Reference> random_references() {
  static constexpr std::array references = {Reference{"dropout", dropout}};
  return references;
}

}  // namespace plimsoll::ops
