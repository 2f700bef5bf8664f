#include "train/optimizer.h"

#include <fmt/core.h>

#include "ops/update/update.h"

namespace plimsoll::train {
namespace {

using graph::Builder;
using graph::Role;
using graph::ValueId;

class Updates {
 public:
  Updates(Builder& builder, const OptimizerSpec& optimizer, ValueId rate,
          ValueId step)
      : builder_(builder), optimizer_(optimizer), rate_(rate), step_(step) {}

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
    if (optimizer_.momentum == 0) {
      builder_.assign(parameter.value,
                      ops::sgd(builder_, parameter.value, gradient, rate_));
      return;
    }
    const ValueId velocity = slot(parameter, "velocity");
    const auto next = ops::sgd_momentum(builder_, parameter.value, gradient,
                                        velocity, rate_, optimizer_.momentum);
    builder_.assign(parameter.value, next.parameter);
    builder_.assign(velocity, next.velocity);
  }

  void add_adam(const Parameter& parameter, ValueId gradient) {
    const ops::AdamSettings settings{optimizer_.beta_1, optimizer_.beta_2,
                                     optimizer_.epsilon};
    const ValueId first = slot(parameter, "first_moment");
    const ValueId second = slot(parameter, "second_moment");
    const auto next =
        optimizer_.type == "adam"
            ? ops::adam(builder_, parameter.value, gradient, first, second,
                        rate_, step_, settings)
            : ops::adamw(builder_, parameter.value, gradient, first, second,
                         rate_, step_, optimizer_.weight_decay, settings);
    builder_.assign(parameter.value, next.parameter);
    builder_.assign(first, next.first_moment);
    builder_.assign(second, next.second_moment);
  }

  Builder& builder_;
  const OptimizerSpec& optimizer_;
  ValueId rate_;
  ValueId step_;
};

}  // namespace

Status add_updates(Builder& builder, const OptimizerSpec& optimizer,
                   std::span<const Parameter> parameters,
                   std::span<const ValueId> gradients, ValueId learning_rate,
                   ValueId step) {
  Updates updates(builder, optimizer, learning_rate, step);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    PLIMSOLL_RETURN_IF_ERROR(updates.add(parameters[i], gradients[i]));
  }
  builder.set_place(graph::Place::home);
  return {};
}

}  // namespace plimsoll::train
