#include "graph/attrs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace plimsoll::graph {
namespace {

struct AttrText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const {
    return fmt::format("{}", value);
  }
  std::string operator()(double value) const {
    return fmt::format("{}", value);
  }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const Shape& value) const { return value.to_string(); }
  std::string operator()(const std::vector<std::int64_t>& value) const {
    return fmt::format("[{}]", fmt::join(value, ","));
  }
  std::string operator()(const std::vector<double>& value) const {
    return fmt::format("[{}]", fmt::join(value, ","));
  }
};

}  // namespace

Attrs Attrs::at(std::int64_t batch) const {
  Attrs fixed = *this;
  for (auto& [name, value] : fixed.items_) {
    if (auto* shape = std::get_if<Shape>(&value)) *shape = shape->at(batch);
  }
  return fixed;
}

std::string Attrs::to_string() const {
  std::string text;
  for (const auto& [name, value] : items_) {
    if (!text.empty()) text += ' ';
    text += name + '=' + std::visit(AttrText(), value);
  }
  return text;
}

}  // namespace plimsoll::graph
