#include "train/layers/layer_values.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace plimsoll::train {
namespace {

// What is wrong with the field of one key, or nothing.
class ValueCheck {
 public:
  ValueCheck(const LayerKey& key, const Layer& layer, const Layer& plain)
      : key_(key), layer_(layer), plain_(plain) {}

  std::string operator()(bool Layer::*) const { return {}; }
  std::string operator()(std::int64_t Layer::*field) const {
    const std::int64_t value = layer_.*field;
    if (is_left_out(field) || key_.integers.holds(value)) return {};
    return fmt::format("{}: must be {}, not {}", key_.key,
                       wording(key_.integers), value);
  }
  std::string operator()(double Layer::*field) const {
    const double value = layer_.*field;
    if (key_.reals.holds(value)) return {};
    return fmt::format("{}: must be {}, not {}", key_.key, wording(key_.reals),
                       value);
  }
  std::string operator()(std::string Layer::*field) const {
    if (key_.names == nullptr || is_left_out(field)) return {};
    const Names names = key_.names();
    const std::string& value = layer_.*field;
    if (std::find(names.begin(), names.end(), value) != names.end()) return {};
    return fmt::format("unknown {} `{}`: known are {}", key_.what, value,
                       fmt::join(names, ", "));
  }
  std::string operator()(Size2 Layer::*field) const {
    return is_left_out(field) ? "" : all_inside(layer_.*field, key_.integers);
  }
  std::string operator()(std::vector<std::int64_t> Layer::*field) const {
    return all_inside(layer_.*field, key_.integers);
  }
  std::string operator()(Padding Layer::*field) const {
    const auto& [rule, amounts] = layer_.*field;
    if (rule.empty()) return all_inside(amounts, {0, key_.integers.most});
    if (rule == "valid" || rule == "same") return {};
    return fmt::format(
        "{}: must be \"valid\", \"same\", a number, [height, width] or [top, "
        "bottom, left, right], not \"{}\"",
        key_.key, rule);
  }

 private:
  // A default may be outside: strides of 0 are as large as the pool.
  template <class Field>
  bool is_left_out(Field field) const {
    return key_.needed.empty() && layer_.*field == plain_.*field;
  }

  template <class Values>
  std::string all_inside(const Values& values,
                         const IntegerRange& range) const {
    for (const std::int64_t value : values) {
      if (range.holds(value)) continue;
      return fmt::format("{}: must be of integers from {} to {}, not {}",
                         key_.key, range.least, range.most, value);
    }
    return {};
  }

  const LayerKey& key_;
  const Layer& layer_;
  const Layer& plain_;
};

}  // namespace

std::string wrong_value(const LayerDef& def, const Layer& layer) {
  Layer plain;
  if (def.set_defaults != nullptr) def.set_defaults(plain);
  for (const LayerKey& key : def.keys) {
    std::string why = std::visit(ValueCheck(key, layer, plain), key.field);
    if (!why.empty()) return why;
  }
  return {};
}

}  // namespace plimsoll::train
