// Models put together from layers: in a row, or as a graph of calls.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "train/layers/layer_node.h"
#include "train/layers/layer_text.h"
#include "train/model_impl.h"
#include "train/network.h"

namespace plimsoll {

namespace {

using Node = LayerOutput::Node;

void check_node(const Node* node) {
  if (node != nullptr) return;
  throw_error(
      {ErrorCode::bad_input,
       "an empty LayerOutput: a model is made of what Input() and calls "
       "of layers give"});
}

// The layers between the two, each behind those that it reads.
std::vector<const Node*> layers_of(const Node* output) {
  std::map<std::int64_t, const Node*> seen;
  std::vector<const Node*> open = {output};
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    check_node(node);
    if (!seen.emplace(node->number, node).second) continue;
    for (const auto* read : {&node->inputs, &node->mask}) {
      for (const LayerOutput& input : *read) open.push_back(input.node().get());
    }
  }
  std::vector<const Node*> layers;
  for (const auto& [number, node] : seen) layers.push_back(node);
  return layers;
}

void check_input(const std::vector<std::int64_t>& shape) {
  double elements = 1;
  bool right = !shape.empty();
  for (const std::int64_t extent : shape) {
    right = right && extent >= 1;
    elements *= static_cast<double>(extent);
  }
  if (right && elements < 0x1p40) return;
  throw_error(
      {ErrorCode::bad_input,
       fmt::format("the model's input: must have extents from 1 on, and less "
                   "than 2^40 elements, not [{}]",
                   fmt::join(shape, ", "))});
}

// In f32, or f64 where a layer wants that: it may be what the model is for.
train::Network network_of(graph::Builder& builder,
                          const train::ModelSpec& model) {
  check_input(model.input);
  const bool wide = std::any_of(
      model.layers.begin(), model.layers.end(),
      [](const train::LayerSpec& layer) { return layer.precision == "f64"; });
  return value_or_throw(
      train::build_shapes(builder, model, wide ? DType::f64 : DType::f32));
}

train::ModelSpec spec_of(const Node* input, const Node* output) {
  check_node(input);
  train::ModelSpec model;
  model.input = input->shape;
  std::map<const Node*, std::size_t> positions;
  for (const Node* node : layers_of(output)) {
    if (node == input) continue;
    if (node->layer.type.empty()) {
      throw_error({ErrorCode::bad_input,
                   "the model's output comes from another input too: a "
                   "model has one"});
    }
    positions[node] = model.layers.size();
    train::LayerSpec layer;
    static_cast<Layer&>(layer) = node->layer;
    model.layers.push_back(std::move(layer));
  }
  if (!positions.contains(output)) {
    throw_error({ErrorCode::bad_input,
                 "the model's output is its input: it needs at "
                 "least one layer"});
  }
  const auto names = train::layer_names(model);
  for (const auto& [node, position] : positions) {
    const auto name_of = [&](const LayerOutput& read) -> std::string {
      const Node* from = read.node().get();
      return from == input ? train::kModelInput : names[positions.at(from)];
    };
    if (!node->mask.empty()) {
      model.layers[position].mask = name_of(node->mask[0]);
    }
    auto& inputs = model.layers[position].inputs;
    inputs.clear();
    if (node->inputs.empty()) {
      throw_error({ErrorCode::bad_input,
                   names[position] + ": is called with no input"});
    }
    for (const LayerOutput& read : node->inputs) {
      inputs.push_back(name_of(read));
    }
    // The layer before it goes without saying.
    const std::string before =
        position == 0 ? train::kModelInput : names[position - 1];
    if (inputs == std::vector{before}) inputs.clear();
  }
  return model;
}

}  // namespace

Model::Model(const LayerOutput& input, const LayerOutput& output)
    : impl_(std::make_unique<Impl>()) {
  impl().model = spec_of(input.node().get(), output.node().get());
  graph::Builder builder;
  network_of(builder, impl().model);  // names what does not fit
}

std::string Model::to_toml() const { return train::to_toml(impl().model); }

std::int64_t Model::parameters(std::vector<std::int64_t> input) const {
  train::ModelSpec model = impl().model;
  if (!input.empty()) model.input = std::move(input);
  graph::Builder builder;
  const auto network = network_of(builder, model);
  std::int64_t count = 0;
  for (const train::Parameter& one : network.parameters) {
    count += builder.type(one.value).shape.elements();
  }
  return count;
}

Sequential::Sequential(std::initializer_list<Layer> layers)
    : Sequential(std::vector<Layer>(layers)) {}

Sequential::Sequential(std::vector<Layer> layers)
    : Model([&] {
        auto impl = std::make_unique<Impl>();
        for (Layer& layer : layers) {
          check_type(layer);
          train::LayerSpec spec;
          static_cast<Layer&>(spec) = std::move(layer);
          impl->model.layers.push_back(std::move(spec));
        }
        return impl;
      }()) {}

}  // namespace plimsoll
