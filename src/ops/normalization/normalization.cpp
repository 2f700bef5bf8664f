#include "ops/normalization/normalization.h"

#include <fmt/core.h>

#include <array>

#include "ops/elementwise/elementwise.h"
#include "ops/normalization/norm_types.h"

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using graph::Builder;
using graph::Cost;
using graph::GradientContext;
using graph::OpDef;
using graph::TensorType;
using graph::TypeList;
using graph::ValueId;

template <NormKind kKind, bool kGradient>
Result<TypeList> infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  return norm_types(kKind, kGradient, inputs, attrs);
}

// Where a channel's sums come first, all of x is read twice.
template <NormKind kKind, bool kGradient>
Cost cost(std::span<const TensorType> inputs,
          std::span<const TensorType> outputs, const Attrs&) {
  Cost cost{.flops = 10 * static_cast<double>(outputs[0].shape.elements()),
            .bytes = kKind == NormKind::batch
                         ? static_cast<double>(inputs[0].bytes())
                         : 0};
  cost.bytes += bytes_of(inputs) + bytes_of(outputs);
  return cost;
}

template <NormKind kKind>
const OpDef& grad_op() {
  static const OpDef op = {
      .name = norm_name(kKind, true),
      .infer = infer<kKind, true>,
      .cost = cost<kKind, true>,
      .in_place = {{0, 0}, {1, 0}},  // dx in dy, or in x
  };
  return op;
}

template <NormKind kKind>
Result<std::vector<ValueId>> gradient(GradientContext& context) {
  Builder& builder = context.builder;
  // A copy: building nodes moves the graph's own.
  const graph::Node node = builder.graph().node(context.node);
  const auto flows = context.output_gradients;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (flows[i].valid() == (i == 0)) continue;
    return Error{ErrorCode::unsupported,
                 fmt::format("{}: the statistics of `{}` have no gradient",
                             node.name, node.op->name)};
  }
  const NormForm form = norm_form(kKind, false, node.attrs);
  const auto value = [&](int input, int output) {
    return input >= 0 ? node.inputs[static_cast<std::size_t>(input)]
                      : node.outputs[static_cast<std::size_t>(output)];
  };
  std::vector<ValueId> inputs = {flows[0], node.inputs[0]};
  if (form.gamma >= 0) inputs.push_back(value(form.gamma, -1));
  if (kKind != NormKind::rms) {
    inputs.push_back(value(form.mean, form.mean_out));
  }
  inputs.push_back(value(form.deviation, form.deviation_out));
  Attrs attrs = node.attrs;
  if (form.gamma < 0 && form.beta >= 0) {
    const DType dtype = builder.type(value(form.beta, -1)).dtype;
    attrs.set("dtype", std::string(name_of(dtype)));
  }
  const auto made = builder.emit_all(grad_op<kKind>(), inputs, attrs);
  if (made.empty()) return builder.status().error();

  const NormForm back = norm_form(kKind, true, node.attrs);
  std::vector<ValueId> gradients(node.inputs.size());
  gradients[0] = made[0];
  const auto place = [&](int input, int output) {
    if (input < 0) return;
    gradients[static_cast<std::size_t>(input)] =
        made[static_cast<std::size_t>(output)];
  };
  place(form.gamma, back.dgamma);
  place(form.beta, back.dbeta);
  return gradients;
}

template <NormKind kKind>
const OpDef& norm_op() {
  static const OpDef op = {
      .name = norm_name(kKind, false),
      .infer = infer<kKind, false>,
      .cost = cost<kKind, false>,
      .gradient = gradient<kKind>,
      .in_place = {{0, 0}},
  };
  return op;
}

// The inputs that are there, and attributes that say which.
struct Given {
  std::vector<ValueId> inputs;
  Attrs attrs;
};

Given given(ValueId x, ValueId gamma, ValueId beta, double epsilon) {
  Given made{{x}, {{"epsilon", epsilon}}};
  if (gamma.valid()) {
    made.inputs.push_back(gamma);
  } else {
    made.attrs.set("scale", false);
  }
  if (beta.valid()) {
    made.inputs.push_back(beta);
  } else {
    made.attrs.set("center", false);
  }
  return made;
}

}  // namespace

ValueId layer_norm(Builder& builder, ValueId x, ValueId gamma, ValueId beta,
                   double epsilon) {
  Given op = given(x, gamma, beta, epsilon);
  return builder.emit(norm_op<NormKind::layer>(), op.inputs, op.attrs);
}

ValueId rms_norm(Builder& builder, ValueId x, ValueId gamma, double epsilon) {
  Given op = given(x, gamma, ValueId(), epsilon);
  return builder.emit(norm_op<NormKind::rms>(), op.inputs, op.attrs);
}

ValueId group_norm(Builder& builder, ValueId x, ValueId gamma, ValueId beta,
                   std::int64_t groups, double epsilon) {
  Given op = given(x, gamma, beta, epsilon);
  op.attrs.set("groups", groups);
  return builder.emit(norm_op<NormKind::group>(), op.inputs, op.attrs);
}

BatchNorm batch_norm(Builder& builder, ValueId x, ValueId gamma, ValueId beta,
                     double epsilon, bool unbiased) {
  Given op = given(x, gamma, beta, epsilon);
  if (unbiased) op.attrs.set("unbiased", true);
  const auto made =
      builder.emit_all(norm_op<NormKind::batch>(), op.inputs, op.attrs);
  if (made.empty()) return {};
  return {made[0], made[1], made[2]};
}

ValueId batch_norm_inference(Builder& builder, ValueId x, ValueId gamma,
                             ValueId beta, ValueId mean, ValueId variance,
                             double epsilon) {
  Given op = given(x, gamma, beta, epsilon);
  op.inputs.push_back(mean);
  op.inputs.push_back(variance);
  return builder.emit(norm_op<NormKind::inference>(), op.inputs, op.attrs);
}

ValueId moving_average(Builder& builder, ValueId running, ValueId batch,
                       double momentum) {
  return add(builder, multiply_scalar(builder, running, momentum),
             multiply_scalar(builder, batch, 1 - momentum));
}

std::span<const OpDef* const> normalization_ops() {
  static const std::array<const OpDef*, 10> ops = {
      &norm_op<NormKind::layer>(),     &grad_op<NormKind::layer>(),
      &norm_op<NormKind::rms>(),       &grad_op<NormKind::rms>(),
      &norm_op<NormKind::group>(),     &grad_op<NormKind::group>(),
      &norm_op<NormKind::batch>(),     &grad_op<NormKind::batch>(),
      &norm_op<NormKind::inference>(), &grad_op<NormKind::inference>()};
  return ops;
}

}  // namespace plimsoll::ops
