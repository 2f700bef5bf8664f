#include "train/layers/layer_node.h"

#include <atomic>

#include "base/throw_error.h"

namespace plimsoll {
namespace {

using Node = LayerOutput::Node;

LayerOutput make_node(Node node) {
  static std::atomic<std::int64_t> count = 0;
  node.number = count++;
  return LayerOutput(std::make_shared<const Node>(std::move(node)));
}

}  // namespace

void check_type(const Layer& layer) {
  if (!layer.type.empty()) return;
  throw_error({ErrorCode::bad_input,
               "a layer without a type: layers are made by functions, as in "
               "Dense(10)"});
}

LayerOutput Input(std::vector<std::int64_t> shape) {
  Node node;
  node.shape = std::move(shape);
  return make_node(std::move(node));
}

LayerOutput Layer::operator()(const LayerOutput& x) const {
  return (*this)(std::vector{x});
}

LayerOutput Layer::operator()(const std::vector<LayerOutput>& read) const {
  check_type(*this);
  Node node;
  node.layer = *this;
  node.inputs = read;
  return make_node(std::move(node));
}

LayerOutput Layer::operator()(const std::vector<LayerOutput>& read,
                              const LayerOutput& masked_by) const {
  check_type(*this);
  Node node;
  node.layer = *this;
  node.inputs = read;
  node.mask = {masked_by};
  return make_node(std::move(node));
}

Layer Layer::named(std::string called) const {
  Layer layer = *this;
  layer.name = std::move(called);
  return layer;
}

}  // namespace plimsoll
