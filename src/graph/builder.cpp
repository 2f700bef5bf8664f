#include "graph/builder.h"

#include <fmt/core.h>

#include <algorithm>

namespace plimsoll::graph {

ValueId Builder::input(std::string name, TensorType type) {
  const ValueId id(graph_.values.size());
  graph_.values.push_back(
      {std::move(name), std::move(type), ValueKind::input, NodeId()});
  graph_.inputs.push_back(id);
  return id;
}

ValueId Builder::state(std::string name, Role role, TensorType type) {
  for (const State& known : graph_.states) {
    if (known.name != name) continue;
    fail({ErrorCode::internal, fmt::format("state `{}` is made twice", name)});
    return {};
  }
  const ValueId id(graph_.values.size());
  graph_.values.push_back({name, std::move(type), ValueKind::state, NodeId()});
  graph_.states.push_back({std::move(name), role, id, place_});
  return id;
}

ValueId Builder::emit(const OpDef& op, std::vector<ValueId> inputs,
                      Attrs attrs) {
  const auto outputs = emit_all(op, std::move(inputs), std::move(attrs));
  return outputs.empty() ? ValueId() : outputs.front();
}

std::vector<ValueId> Builder::emit_all(const OpDef& op,
                                       std::vector<ValueId> inputs,
                                       Attrs attrs) {
  if (!ok()) return {};
  TypeList types;
  for (const ValueId id : inputs) {
    if (!id.valid()) {
      fail({ErrorCode::internal,
            fmt::format("{}: `{}` is given no value", scope_, op.name)});
      return {};
    }
    types.push_back(graph_.type(id));
  }
  auto inferred = op.infer(types, attrs);
  if (!inferred) {
    Error error = std::move(inferred).error();
    if (!scope_.empty()) error.message = scope_ + ": " + error.message;
    fail(std::move(error));
    return {};
  }
  const NodeId node(graph_.nodes.size());
  std::vector<ValueId> outputs;
  for (TensorType& type : *inferred) {
    outputs.emplace_back(graph_.values.size());
    graph_.values.push_back({fmt::format("{}/{}", scope_, op.name),
                             std::move(type), ValueKind::computed, node});
  }
  graph_.nodes.push_back({&op, scope_, std::move(inputs), outputs,
                          std::move(attrs), phase_, place_});
  return outputs;
}

void Builder::assign(ValueId state, ValueId value) {
  if (!ok()) return;
  if (!(graph_.type(state) == graph_.type(value))) {
    fail({ErrorCode::internal,
          fmt::format("`{}` is {} but is assigned {}", graph_.value(state).name,
                      graph_.type(state).to_string(),
                      graph_.type(value).to_string())});
    return;
  }
  graph_.assigns.push_back({state, value});
}

void Builder::output(ValueId value) {
  if (ok()) graph_.outputs.push_back(value);
}

void Builder::fail(Error error) {
  if (ok()) status_ = Status(std::move(error));
}

Result<Graph> Builder::finish() && {
  if (!ok()) return status_.error();
  return std::move(graph_);
}

}  // namespace plimsoll::graph
