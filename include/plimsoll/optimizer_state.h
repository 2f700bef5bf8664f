// Optimisers for loops that are written by hand:
//   pl::OptimizerState adam(pl::Adam{});
//   auto gradients = tape.gradient(loss, variables);
//   adam.apply_gradients(gradients, variables);
// Moments are variables of its own, in the ledger as `NAME/first_moment`; they
// are made with the first update.
#pragma once

#include <memory>
#include <vector>

#include "plimsoll/objective.h"
#include "plimsoll/variable.h"

namespace plimsoll {

namespace train {
class VariableUpdates;
}

class OptimizerState {
 public:
  // Throws Exception (bad_input) that names the key and what would be right.
  explicit OptimizerState(const Optimizer& optimizer);
  ~OptimizerState();
  OptimizerState(OptimizerState&&) noexcept;
  OptimizerState& operator=(OptimizerState&&) noexcept;

  // One update, written into the variables' memory where nobody else holds
  // their values. A variable whose gradient is not defined() stays as it is.
  // Where there is no memory nothing has changed.
  void apply_gradients(const std::vector<Tensor>& gradients,
                       const std::vector<Variable>& variables);

  // Of the last update under a schedule, or as it was given or set.
  double learning_rate() const;
  // Throws under a schedule.
  void set_learning_rate(double rate);
  // How many updates there were.
  std::int64_t iterations() const;

 private:
  std::unique_ptr<train::VariableUpdates> updates_;
};

}  // namespace plimsoll
