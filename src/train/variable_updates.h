// An optimiser's state beside variables, and its updates.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "train/job_spec.h"
#include "train/update_graph.h"

namespace plimsoll::train {

class VariableUpdates {
 public:
  explicit VariableUpdates(OptimizerSpec spec) : spec_(std::move(spec)) {}

  // One update of these, of which there is at least one, with gradients of
  // their types.
  Status apply(std::span<const runtime::VariablePtr> variables,
               std::span<const runtime::ValuePtr> gradients);

  const OptimizerSpec& spec() const { return spec_; }
  // As it is now, or would start.
  Result<double> learning_rate() const;
  Status set_learning_rate(double rate);
  Result<double> iterations() const;

 private:
  Status prepare(std::span<const runtime::VariablePtr> variables);
  Result<UpdateGraph> build(std::span<const runtime::VariablePtr> variables);
  struct SlotNeed {
    const std::string& name;
    graph::Role role;
    const graph::TensorType& type;
    double start = 0;
  };
  struct Slot {
    runtime::VariablePtr variable;
    std::weak_ptr<runtime::VariableCell> of;  // whose it is
    bool owned = false;                       // false: everybody's
  };
  Result<runtime::VariablePtr> slot(const SlotNeed& state,
                                    const runtime::VariablePtr& of,
                                    runtime::Eager* home);
  Result<double> number(const char* slot, double otherwise) const;

  OptimizerSpec spec_;
  // Moments and counters, by name; made when they are first needed.
  std::map<std::string, Slot> slots_;
  std::vector<std::uint64_t> ids_;  // of the variables that `update_` is for
  UpdateGraph update_;
};

}  // namespace plimsoll::train
