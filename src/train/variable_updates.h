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
  Result<runtime::VariablePtr> slot(const graph::State& state,
                                    const graph::TensorType& type, double start,
                                    runtime::Eager* home);
  Result<double> number(const char* slot, double otherwise) const;

  OptimizerSpec spec_;
  // Moments and counters, by name; made when they are first needed.
  std::map<std::string, runtime::VariablePtr> slots_;
  std::vector<std::uint64_t> ids_;  // of the variables that `update_` is for
  UpdateGraph update_;
};

}  // namespace plimsoll::train
