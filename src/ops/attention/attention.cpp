#include "ops/attention/attention.h"

#include <fmt/core.h>

#include <array>
#include <cmath>

#include "ops/attention/attention_shape.h"

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using graph::Cost;
using graph::OpDef;
using graph::TensorType;
using graph::TypeList;
using graph::ValueId;

using Types = std::span<const TensorType>;

class Inference {
 public:
  Inference(const AttentionForm& form, Types inputs, const Attrs& attrs)
      : form_(form), inputs_(inputs), attrs_(attrs) {}

  Result<TypeList> run() const {
    if (std::ssize(inputs_) != form_.mask &&
        std::ssize(inputs_) != form_.mask + 1) {
      return wrong(fmt::format(
          "takes {}, with or without a mask, not {} "
          "inputs",
          backward() ? "dy, q, k, v, y, lse" : "q, k, v", inputs_.size()));
    }
    PLIMSOLL_RETURN_IF_ERROR(check_operands());
    PLIMSOLL_RETURN_IF_ERROR(check_mask());
    const double scale = attrs_.get<double>("scale");
    if (!std::isfinite(scale)) {
      return wrong(fmt::format("scale must be a number, not {}", scale));
    }
    const Shape& shape = q().shape;
    const TensorType lse = {wide_dtype(q().dtype),
                            {shape[0], shape[2], shape[1]}};
    if (!backward()) return TypeList{q(), lse};
    PLIMSOLL_RETURN_IF_ERROR(check_same("dy", form_.dy, q()));
    PLIMSOLL_RETURN_IF_ERROR(check_same("y", form_.y, q()));
    PLIMSOLL_RETURN_IF_ERROR(check_same("lse", form_.lse, lse));
    return TypeList{q(), input(form_.k), input(form_.v)};
  }

 private:
  bool backward() const { return form_.dy >= 0; }
  const TensorType& input(int position) const {
    return inputs_[static_cast<std::size_t>(position)];
  }
  const TensorType& q() const { return input(form_.q); }

  Error wrong(const std::string& what) const {
    return {ErrorCode::bad_input,
            fmt::format("attention{}: {}", backward() ? "_grad" : "", what)};
  }

  // Every axis but the batch has a size of its own from 1 on.
  static bool has_heads(const TensorType& type) {
    if (type.shape.rank() != 4) return false;
    for (int axis = 1; axis < 4; ++axis) {
      const Dim& dim = type.shape[axis];
      if (dim.per_batch || dim.size < 1) return false;
    }
    return true;
  }

  Status check_operands() const {
    if (!is_floating(q().dtype)) {
      return wrong(fmt::format("q must be f32, f64, bf16 or f16, not {}",
                               q().to_string()));
    }
    if (!has_heads(q())) {
      return wrong(
          fmt::format("q must be [B, S, N, D], not {}", q().to_string()));
    }
    const TensorType& k = input(form_.k);
    if (!has_heads(k) || k.dtype != q().dtype || k.shape[0] != q().shape[0] ||
        k.shape[3] != q().shape[3] ||
        q().shape.extent(2) % k.shape.extent(2) != 0) {
      const std::string batch = Shape{q().shape[0]}.to_string();
      return wrong(fmt::format(
          "k {} does not fit q {}: it must be {}[{}, T, K, {}] with K a "
          "divisor of {}",
          k.to_string(), q().to_string(), name_of(q().dtype),
          batch.substr(1, batch.size() - 2), q().shape.extent(3),
          q().shape.extent(2)));
    }
    return check_same("v", form_.v, k);
  }

  Status check_same(const char* name, int position,
                    const TensorType& wanted) const {
    if (input(position) == wanted) return {};
    return wrong(fmt::format("{} must be {}, not {}", name, wanted.to_string(),
                             input(position).to_string()));
  }

  Status check_mask() const {
    if (std::ssize(inputs_) <= form_.mask) return {};
    const TensorType& mask = input(form_.mask);
    const Shape& shape = q().shape;
    const Shape full = {shape[0], shape[2], shape[1], input(form_.k).shape[1]};
    bool fits = mask.dtype == q().dtype && mask.shape.rank() == 4 &&
                mask.shape[3] == full[3];
    for (int axis = 0; fits && axis < 3; ++axis) {
      fits = mask.shape[axis] == full[axis] || mask.shape[axis] == Dim(1);
    }
    if (fits) return {};
    return wrong(fmt::format(
        "the mask {} does not fit q {}: it must be {}, or 1 in place of any "
        "extent but the last",
        mask.to_string(), q().to_string(),
        TensorType{q().dtype, full}.to_string()));
  }

  AttentionForm form_;
  Types inputs_;
  const Attrs& attrs_;
};

Result<TypeList> infer(Types inputs, const Attrs& attrs) {
  return Inference(kAttentionForward, inputs, attrs).run();
}

Result<TypeList> infer_grad(Types inputs, const Attrs& attrs) {
  return Inference(kAttentionBackward, inputs, attrs).run();
}

// Two products forward, five backward, and an exponential each.
Cost cost_of(const AttentionForm& form, int products, Types inputs,
             Types outputs, const Attrs& attrs) {
  const AttentionShape shape = attention_shape(inputs, form, attrs);
  Cost cost;
  cost.flops = static_cast<double>(shape.batch * shape.heads) * shape.pairs() *
               (2 * products * static_cast<double>(shape.width) + 20);
  cost.bytes = bytes_of(inputs) + bytes_of(outputs);
  return cost;
}

Cost cost(Types inputs, Types outputs, const Attrs& attrs) {
  return cost_of(kAttentionForward, 2, inputs, outputs, attrs);
}

Cost cost_grad(Types inputs, Types outputs, const Attrs& attrs) {
  return cost_of(kAttentionBackward, 5, inputs, outputs, attrs);
}

const OpDef& grad_op() {
  static const OpDef op = {
      .name = "attention_grad",
      .infer = infer_grad,
      .cost = cost_grad,
  };
  return op;
}

Result<std::vector<ValueId>> gradient(graph::GradientContext& context) {
  graph::Builder& builder = context.builder;
  // A copy: building nodes moves the graph's own.
  const graph::Node node = builder.graph().node(context.node);
  const auto flows = context.output_gradients;
  if (!flows[0].valid() || flows[1].valid()) {
    return Error{ErrorCode::unsupported,
                 fmt::format("{}: the sums that `attention` keeps have no "
                             "gradient",
                             node.name)};
  }
  std::vector<ValueId> inputs = {flows[0],        node.inputs[0],
                                 node.inputs[1],  node.inputs[2],
                                 node.outputs[0], node.outputs[1]};
  if (node.inputs.size() > 3) inputs.push_back(node.inputs[3]);
  std::vector<ValueId> gradients =
      builder.emit_all(grad_op(), std::move(inputs), node.attrs);
  if (gradients.empty()) return builder.status().error();
  gradients.resize(node.inputs.size());  // none of the mask
  return gradients;
}

const OpDef& attention_op() {
  static const OpDef op = {
      .name = "attention",
      .infer = infer,
      .cost = cost,
      .gradient = gradient,
  };
  return op;
}

}  // namespace

ValueId attention(graph::Builder& builder, ValueId q, ValueId k, ValueId v,
                  std::optional<ValueId> mask,
                  const AttentionSettings& settings) {
  std::vector<ValueId> inputs = {q, k, v};
  if (mask.has_value()) inputs.push_back(*mask);
  Attrs attrs;
  if (settings.scale != 0) attrs.set("scale", settings.scale);
  if (settings.causal) attrs.set("causal", true);
  const auto made =
      builder.emit_all(attention_op(), std::move(inputs), std::move(attrs));
  return made.empty() ? ValueId() : made[0];
}

std::span<const OpDef* const> attention_ops() {
  static const std::array<const OpDef*, 2> ops = {&attention_op(), &grad_op()};
  return ops;
}

}  // namespace plimsoll::ops
