#include "graph/graph.h"

#include <fmt/core.h>

#include <array>

namespace plimsoll::graph {

std::string TensorType::to_string() const {
  return fmt::format("{}{}", name_of(dtype), shape.to_string());
}

std::string to_string(std::span<const TensorType> types) {
  std::string text;
  for (const TensorType& type : types) {
    text += (text.empty() ? "" : ", ") + type.to_string();
  }
  return text;
}

double bytes_of(std::span<const TensorType> types) {
  double bytes = 0;
  for (const TensorType& type : types) {
    bytes += static_cast<double>(type.bytes());
  }
  return bytes;
}

std::string_view name_of(Role role) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "parameter", "optimizer", "statistic", "counter", "metric", "gradient"};
  return kNames[static_cast<std::size_t>(role)];
}

ValueId Graph::root_of(ValueId id) const {
  while (true) {
    const NodeId producer = value(id).producer;
    if (!producer.valid() || !node(producer).op->is_view) return id;
    id = node(producer).inputs[0];
  }
}

Place Graph::place_of(ValueId id) const {
  const ValueId root = root_of(id);
  if (const NodeId producer = value(root).producer; producer.valid()) {
    return node(producer).place;
  }
  for (const State& state : states) {
    if (state.value == root) return state.place;
  }
  return Place::home;
}

std::string Graph::to_string() const {
  std::string text;
  const auto list = [&](const std::vector<ValueId>& ids) {
    std::string names;
    for (const ValueId id : ids) {
      names += fmt::format("{}%{}:{}", names.empty() ? "" : ", ", id.index,
                           type(id).to_string());
    }
    return names;
  };
  for (const ValueId id : inputs) text += fmt::format("input {}\n", list({id}));
  for (const State& state : states) {
    text += fmt::format("{} {} = {}\n", plimsoll::graph::name_of(state.role),
                        state.name, list({state.value}));
  }
  for (const Node& node : nodes) {
    text +=
        fmt::format("{} = {}({}) {{{}}} # {}{}\n", list(node.outputs),
                    node.op->name, list(node.inputs), node.attrs.to_string(),
                    node.name, node.place == Place::host ? " on the host" : "");
  }
  for (const Assign& assign : assigns) {
    text += fmt::format("assign %{} <- %{}\n", assign.state.index,
                        assign.value.index);
  }
  return text + fmt::format("output {}\n", list(outputs));
}

}  // namespace plimsoll::graph
