#include "train/layers/layer_text.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "train/layers/layer_def.h"

namespace plimsoll::train {
namespace {

std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') made += '\\';
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f) {
      made += fmt::format("\\u{:04x}", code);
    } else {
      made += c;
    }
  }
  return made + "\"";
}

std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(std::int64_t value) { return fmt::format("{}", value); }
std::string text_of(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}
std::string text_of(const std::string& value) { return quoted(value); }
std::string text_of(const std::vector<std::int64_t>& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}
std::string text_of(const Size2& pair) {
  return pair[0] == pair[1] ? text_of(pair[0])
                            : fmt::format("[{}]", fmt::join(pair, ", "));
}
std::string text_of(const Padding& padding) {
  if (!padding.rule.empty()) return quoted(padding.rule);
  const auto& by = padding.amounts;
  if (by[0] != by[1] || by[2] != by[3]) {
    return fmt::format("[{}]", fmt::join(by, ", "));
  }
  return text_of(Size2{by[0], by[2]});
}

std::string names(const std::vector<std::string>& all) {
  if (all.size() == 1) return quoted(all[0]);
  std::string text;
  for (const std::string& one : all) {
    text += (text.empty() ? "[" : ", ") + quoted(one);
  }
  return text + "]";
}

std::string to_toml(const LayerSpec& layer) {
  std::string text = "{ type = " + quoted(layer.type);
  const auto add = [&](std::string_view key, const std::string& value) {
    text += fmt::format(", {} = {}", key, value);
  };
  if (!layer.name.empty()) add("name", quoted(layer.name));
  if (!layer.inputs.empty()) add("inputs", names(layer.inputs));
  if (const LayerDef* def = find_layer(layer.type)) {
    Layer plain;
    if (def->set_defaults != nullptr) def->set_defaults(plain);
    // Made without an activation, or with one that does nothing: the same.
    if (layer.activation == "linear") plain.activation = "linear";
    for (const LayerKey& key : def->keys) {
      std::visit(
          [&](auto field) {
            const bool stated = !(layer.*field == plain.*field);
            if (stated || !key.needed.empty()) {
              add(key.key, text_of(layer.*field));
            }
          },
          key.field);
    }
  }
  if (!layer.device.empty()) add("device", quoted(layer.device));
  if (!layer.precision.empty()) add("precision", quoted(layer.precision));
  return text + " }";
}

}  // namespace

std::string to_toml(const ModelSpec& model) {
  std::string text = "[model]\n";
  if (!model.input.empty()) {
    text += fmt::format("input = [{}]\n", fmt::join(model.input, ", "));
  }
  text += "layers = [\n";
  for (const LayerSpec& layer : model.layers) {
    text += "  " + to_toml(layer) + ",\n";
  }
  return text + "]\n";
}

}  // namespace plimsoll::train
