#include "plimsoll/optimizer_state.h"

#include <fmt/core.h>

#include "runtime/eager/tensor_value.h"
#include "train/optimizer_keys.h"
#include "train/optimizer_spec.h"
#include "train/variable_updates.h"

namespace plimsoll {

OptimizerState::OptimizerState(const Optimizer& optimizer) {
  const auto spec = train::spec_of(optimizer);
  throw_if_error(train::check_optimizer(spec));
  updates_ = std::make_unique<train::VariableUpdates>(spec);
}
OptimizerState::~OptimizerState() = default;
OptimizerState::OptimizerState(OptimizerState&&) noexcept = default;
OptimizerState& OptimizerState::operator=(OptimizerState&&) noexcept = default;

void OptimizerState::apply_gradients(const std::vector<Tensor>& gradients,
                                     const std::vector<Variable>& variables) {
  if (gradients.size() != variables.size()) {
    throw_error({ErrorCode::bad_input,
                 fmt::format("apply_gradients: {} gradients for {} variables",
                             gradients.size(), variables.size())});
  }
  std::vector<runtime::ValuePtr> values;
  std::vector<runtime::VariablePtr> cells;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const auto& cell = runtime::cell_of(variables[i], "apply_gradients");
    if (!gradients[i].defined()) continue;
    const graph::TensorType& given = gradients[i].value()->type;
    if (given != cell->value->type) {
      throw_error(
          {ErrorCode::bad_input,
           fmt::format("apply_gradients: the gradient of `{}` is {}, but the "
                       "variable is {}",
                       cell->name, given.to_string(),
                       cell->value->type.to_string())});
    }
    values.push_back(gradients[i].value());
    cells.push_back(cell);
  }
  if (!cells.empty()) throw_if_error(updates_->apply(cells, values));
}

double OptimizerState::learning_rate() const {
  return value_or_throw(updates_->learning_rate());
}

void OptimizerState::set_learning_rate(double rate) {
  const std::string& schedule = updates_->spec().schedule.type;
  if (!schedule.empty()) {
    throw_error({ErrorCode::bad_input,
                 fmt::format("the learning rate follows a schedule ({}): it "
                             "cannot be set",
                             schedule)});
  }
  throw_if_error(updates_->set_learning_rate(rate));
}

std::int64_t OptimizerState::iterations() const {
  return static_cast<std::int64_t>(value_or_throw(updates_->iterations()));
}

}  // namespace plimsoll
