#include "train/layers/activation.h"

#include "ops/elementwise/elementwise.h"
#include "ops/softmax/softmax.h"
#include "runtime/eager/invoke.h"
#include "runtime/eager/tensor_value.h"
#include "train/layers/layer_def.h"
#include "train/precision.h"

namespace plimsoll {
namespace train {
namespace {

using graph::Builder;
using graph::ValueId;

struct NamedFunction {
  std::string_view name;
  ValueId (*apply)(Builder& builder, const Layer& layer, ValueId value);
};

template <ValueId (*function)(Builder&, ValueId)>
ValueId plain(Builder& builder, const Layer&, ValueId value) {
  return function(builder, value);
}

// In f32 at least: a sum of many small shares.
ValueId wide_softmax(Builder& builder, const Layer&, ValueId value) {
  if (!builder.ok()) return value;
  const DType wide = master_dtype(builder.type(value).dtype);
  return ops::softmax(builder, in_dtype(builder, value, wide));
}

// By the names and with the defaults of Keras.
constexpr NamedFunction kFunctions[] = {
    {"linear", [](Builder&, const Layer&, ValueId value) { return value; }},
    {"relu", plain<ops::relu>},
    {"relu6", [](Builder& b, const Layer&,
                 ValueId value) { return ops::clip(b, value, 0, 6); }},
    {"leaky_relu",
     [](Builder& b, const Layer& layer, ValueId value) {
       return ops::leaky_relu(b, value, layer.negative_slope);
     }},
    {"sigmoid", plain<ops::sigmoid>},
    {"tanh", plain<ops::tanh>},
    {"gelu", plain<ops::gelu>},
    {"gelu_tanh", plain<ops::gelu_tanh>},
    {"silu", plain<ops::silu>},
    {"swish", plain<ops::silu>},
    {"elu", [](Builder& b, const Layer&,
               ValueId value) { return ops::elu(b, value, 1); }},
    {"softplus", plain<ops::softplus>},
    {"softmax", wide_softmax},
};

constexpr LayerKey kKeys[] = {
    {.key = "activation",
     .field = &Layer::activation,
     .needed = "`activation`",
     .names = activations,
     .what = "activation"},
    keys::kNegativeSlope,
};

}  // namespace

Names activations() {
  static const auto names = [] {
    std::vector<std::string_view> all;
    for (const NamedFunction& one : kFunctions) all.push_back(one.name);
    return all;
  }();
  return names;
}

ValueId apply_activation(Builder& builder, const Layer& layer, ValueId value) {
  for (const NamedFunction& one : kFunctions) {
    if (one.name == layer.activation) return one.apply(builder, layer, value);
  }
  return {};
}

const LayerDef kActivationLayer = {
    .type = "activation",
    .keys = kKeys,
    .build = [](LayerContext& context) -> Result<LayerResult> {
      return context.activate(context.x());
    }};

}  // namespace train

Tensor ActivationFunction::operator()(const Tensor& x) const {
  Layer layer = Activation(*this);
  const runtime::ValuePtr operands[] = {runtime::value_of(x, name)};
  return Tensor(value_or_throw(
      runtime::invoke_one(operands, [&](graph::Builder& builder, auto ids) {
        return train::apply_activation(builder, layer, ids[0]);
      })));
}

Layer Activation(ActivationFunction activation) {
  Layer layer = train::make_layer("activation");
  layer.activation = activation.name;
  return layer;
}

}  // namespace plimsoll
