#include <fmt/core.h>

#include "ops/loss/linear_chunks.h"
#include "ops/loss/loss.h"
#include "ops/movement/movement.h"

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using graph::Cost;
using graph::OpDef;
using graph::TensorType;
using graph::TypeList;
using graph::ValueId;

using Types = std::span<const TensorType>;

Error mistake(std::string_view op, Types inputs, const Attrs& attrs) {
  return {
      ErrorCode::bad_input,
      fmt::format(
          "{}({}): expected {}floating x [..., D], a weight {} of its "
          "type, i32 labels [...] and perhaps a bias [V] (f32 beside bf16 and "
          "f16)",
          op, graph::to_string(inputs),
          op.ends_with("grad") ? "dy [...] (f32 beside bf16 and f16), " : "",
          attrs.get<bool>("transposed") ? "[V, D]" : "[D, V]")};
}

// x, weight, labels and perhaps a bias, from `inputs[first]` on.
bool fit(Types inputs, std::size_t first, const Attrs& attrs) {
  const bool biased = inputs.size() == first + 4;
  if (!biased && inputs.size() != first + 3) return false;
  const TensorType& x = inputs[first];
  const TensorType& weight = inputs[first + 1];
  const TensorType& labels = inputs[first + 2];
  if (!is_floating(x.dtype) || x.shape.rank() < 1 || weight.dtype != x.dtype ||
      weight.shape.rank() != 2 || !weight.shape.is_fixed() ||
      weight.shape.extent(0) < 1 || weight.shape.extent(1) < 1 ||
      labels.dtype != DType::i32) {
    return false;
  }
  const int inner = attrs.get<bool>("transposed") ? 1 : 0;
  if (biased && inputs[first + 3] != TensorType{wide_dtype(x.dtype),
                                                {weight.shape[1 - inner]}}) {
    return false;
  }
  return weight.shape[inner] == x.shape[x.shape.rank() - 1] &&
         labels.shape == Shape(std::vector<Dim>(x.shape.dims().begin(),
                                                x.shape.dims().end() - 1));
}

Result<TypeList> infer(Types inputs, const Attrs& attrs) {
  if (!fit(inputs, 0, attrs)) {
    return mistake("linear_cross_entropy", inputs, attrs);
  }
  return TypeList{{wide_dtype(inputs[0].dtype), inputs[2].shape}};
}

Result<TypeList> infer_grad(Types inputs, const Attrs& attrs) {
  if (!fit(inputs, 1, attrs) ||
      inputs[0] != TensorType{wide_dtype(inputs[1].dtype), inputs[3].shape}) {
    return mistake("linear_cross_entropy_grad", inputs, attrs);
  }
  // The sums over chunks are f32 beside bf16 and f16.
  TypeList made = {inputs[1], {wide_dtype(inputs[2].dtype), inputs[2].shape}};
  if (inputs.size() == 5) made.push_back(inputs[4]);
  return made;
}

// One product forward, three backward; each chunk reads the weight again.
template <std::size_t kX, int kProducts>
Cost cost(Types inputs, Types outputs, const Attrs& attrs) {
  const auto chunks = LinearChunks::of(inputs[kX], inputs[kX + 1], attrs);
  const double logits =
      static_cast<double>(chunks.rows) * static_cast<double>(chunks.classes);
  Cost all;
  all.flops = logits * (2 * kProducts * static_cast<double>(chunks.width) + 20);
  all.bytes = static_cast<double>(chunks.count() - 1) * kProducts *
                  static_cast<double>(inputs[kX + 1].bytes()) +
              bytes_of(inputs) + bytes_of(outputs);
  return all;
}

const OpDef& grad_op() {
  static const OpDef op = {
      .name = "linear_cross_entropy_grad",
      .infer = infer_grad,
      .cost = cost<1, 3>,
  };
  return op;
}

// The logits are made again: nothing but x is kept for backward.
Result<std::vector<ValueId>> gradient(graph::GradientContext& context) {
  const graph::Node node = context.builder.graph().node(context.node);
  std::vector<ValueId> inputs = node.inputs;
  inputs.insert(inputs.begin(), context.output_gradients[0]);
  const auto made =
      context.builder.emit_all(grad_op(), std::move(inputs), node.attrs);
  if (made.empty()) return context.builder.status().error();
  const DType dtype = context.builder.type(node.inputs[1]).dtype;
  const bool rounds = dtype != wide_dtype(dtype);
  std::vector gradients = {
      made[0], rounds ? cast(context.builder, made[1], dtype) : made[1],
      ValueId()};
  if (made.size() == 3) gradients.push_back(made[2]);
  return gradients;
}

const OpDef& loss_op() {
  static const OpDef op = {
      .name = "linear_cross_entropy",
      .infer = infer,
      .cost = cost<0, 1>,
      .gradient = gradient,
  };
  return op;
}

}  // namespace

ValueId linear_cross_entropy(graph::Builder& builder, ValueId x, ValueId weight,
                             ValueId labels, bool transposed,
                             std::optional<ValueId> bias) {
  Attrs attrs;
  if (transposed) attrs.set("transposed", true);
  std::vector<ValueId> inputs = {x, weight, labels};
  if (bias) inputs.push_back(*bias);
  return builder.emit(loss_op(), std::move(inputs), std::move(attrs));
}

std::span<const OpDef* const> linear_loss_ops() {
  static const OpDef* const ops[] = {&loss_op(), &grad_op()};
  return ops;
}

}  // namespace plimsoll::ops
