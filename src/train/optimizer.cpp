#include "train/optimizer.h"

#include <fmt/core.h>

#include <optional>

#include "ops/elementwise/elementwise.h"
#include "ops/embedding/embedding.h"
#include "ops/update/update.h"

namespace plimsoll::train {
namespace {

using graph::Builder;
using graph::Role;
using graph::ValueId;

// What an embedding's gradient sums, where it is the whole gradient.
struct Rows {
  ValueId dy;
  ValueId indices;
};
std::optional<Rows> rows_of(const Builder& builder, ValueId gradient) {
  const graph::Graph& graph = builder.graph();
  const graph::NodeId producer = graph.value(gradient).producer;
  if (!producer.valid()) return std::nullopt;
  const graph::Node& node = graph.node(producer);
  const bool of_embedding = node.op->name == "scatter_add" &&
                            node.attrs.get<std::int64_t>("axis") == 0 &&
                            !node.attrs.get<bool>("from_end", true);
  if (!of_embedding) return std::nullopt;
  return Rows{node.inputs[0], node.inputs[1]};
}

class Updates {
 public:
  Updates(Builder& builder, const OptimizerSpec& optimizer,
          const UpdateScalars& scalars)
      : builder_(builder),
        optimizer_(optimizer),
        rate_(scalars.rate),
        step_(scalars.step),
        gate_(scalars.gate) {}

  Status add(const Parameter& parameter, ValueId gradient) {
    builder_.set_scope(parameter.name);
    builder_.set_place(builder_.graph().place_of(parameter.value));
    if (optimizer_.type == "sgd") {
      add_sgd(parameter, gradient);
    } else if (optimizer_.type == "adam" || optimizer_.type == "adamw") {
      add_adam(parameter, gradient);
    } else {
      return Error{ErrorCode::bad_input,
                   fmt::format("unknown optimizer `{}`: known are sgd, adam, "
                               "adamw",
                               optimizer_.type)};
    }
    return builder_.status();
  }

 private:
  ValueId slot(const Parameter& parameter, const char* name) {
    return builder_.state(fmt::format("{}/{}", parameter.name, name),
                          Role::optimizer, builder_.type(parameter.value));
  }

  void add_sgd(const Parameter& parameter, ValueId gradient) {
    const ValueId value = parameter.value;
    const auto rows = rows_of(builder_, gradient);
    if (optimizer_.momentum == 0) {
      builder_.assign(value,
                      rows ? ops::sgd_rows(builder_, value, rows->dy, rate_,
                                           rows->indices, gate_)
                           : ops::sgd(builder_, value, gradient, rate_, gate_));
      return;
    }
    const ValueId velocity = slot(parameter, "velocity");
    const double momentum = optimizer_.momentum;
    const auto next =
        rows ? ops::sgd_momentum_rows(builder_, value, rows->dy, velocity,
                                      rate_, rows->indices, momentum, gate_)
             : ops::sgd_momentum(builder_, value, gradient, velocity, rate_,
                                 momentum, gate_);
    builder_.assign(parameter.value, next.parameter);
    builder_.assign(velocity, next.velocity);
  }

  void add_adam(const Parameter& parameter, ValueId gradient) {
    const ops::AdamSettings settings{optimizer_.beta_1, optimizer_.beta_2,
                                     optimizer_.epsilon};
    const ValueId first = slot(parameter, "first_moment");
    const ValueId second = slot(parameter, "second_moment");
    const ValueId value = parameter.value;
    const double decay = optimizer_.weight_decay;
    const bool adam = optimizer_.type == "adam";
    ops::AdamUpdate next;
    if (const auto rows = rows_of(builder_, gradient)) {
      next = adam ? ops::adam_rows(builder_, value, rows->dy, first, second,
                                   rate_, step_, rows->indices, settings, gate_)
                  : ops::adamw_rows(builder_, value, rows->dy, first, second,
                                    rate_, step_, rows->indices, decay,
                                    settings, gate_);
    } else {
      next = adam ? ops::adam(builder_, value, gradient, first, second, rate_,
                              step_, settings, gate_)
                  : ops::adamw(builder_, value, gradient, first, second, rate_,
                               step_, decay, settings, gate_);
    }
    builder_.assign(parameter.value, next.parameter);
    builder_.assign(first, next.first_moment);
    builder_.assign(second, next.second_moment);
  }

  Builder& builder_;
  const OptimizerSpec& optimizer_;
  ValueId rate_;
  ValueId step_;
  ValueId gate_;
};

}  // namespace

Status add_updates(Builder& builder, const OptimizerSpec& optimizer,
                   std::span<const Parameter> parameters,
                   std::span<const ValueId> gradients,
                   const UpdateScalars& scalars) {
  Updates updates(builder, optimizer, scalars);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    PLIMSOLL_RETURN_IF_ERROR(updates.add(parameters[i], gradients[i]));
  }
  builder.set_place(graph::Place::home);
  return {};
}

ValueId finite_gradients(Builder& builder,
                         std::span<const Parameter> parameters,
                         std::span<const ValueId> gradients) {
  ValueId all;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto rows = rows_of(builder, gradients[i]);
    builder.set_place(builder.graph().place_of(parameters[i].value));
    const ValueId one =
        ops::all_finite(builder, rows ? rows->dy : gradients[i]);
    builder.set_place(graph::Place::home);
    all = all.valid() ? ops::multiply(builder, all, one) : one;
  }
  return all;
}

}  // namespace plimsoll::train
