// What a function does, written down as a graph instead of being done.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "graph/builder.h"
#include "runtime/eager/variable_cell.h"

namespace plimsoll::runtime {

// A traced function: arguments and captured values are the graph's inputs,
// variables its states.
struct TracedGraph {
  graph::Graph graph;  // optimised, its batch still open
  std::size_t arguments = 0;
  Values captured;  // inputs behind the arguments
  std::vector<VariablePtr> states;
  std::vector<bool> assigned;  // by state
};

class Trace {
 public:
  explicit Trace(std::shared_ptr<Eager> home);

  // Arguments come before anything else.
  ValuePtr argument(graph::TensorType type);

  // The op's outputs; `prepared` tells tapes of its gradient, and has no
  // kernel.
  Result<Values> emit(const graph::OpDef& op, std::span<const ValuePtr> inputs,
                      const graph::Attrs& attrs,
                      std::shared_ptr<PreparedOp>& prepared);
  Result<ValuePtr> read(const VariablePtr& variable);
  Status assign(const VariablePtr& variable, const ValuePtr& value);

  // What following nodes belong to.
  graph::Phase phase() const { return builder_.phase(); }
  void set_phase(graph::Phase phase) { builder_.set_phase(phase); }

  // Once, when the function has run.
  Result<TracedGraph> finish(std::span<const ValuePtr> outputs);

  const std::shared_ptr<Eager>& home() const { return home_; }

 private:
  struct Known {
    VariablePtr variable;
    graph::ValueId state;
    ValuePtr value;  // as far as the function has come
    bool assigned = false;
  };

  ValuePtr symbol(graph::ValueId id);
  Result<Known*> known(const VariablePtr& variable);
  // Its place in the graph: values in memory become inputs.
  Result<graph::ValueId> place_of(const ValuePtr& value);
  graph::ValueId computed(graph::ValueId id);

  std::shared_ptr<Eager> home_;
  const std::uint64_t number_;
  graph::Builder builder_;
  std::size_t arguments_ = 0;
  Values captured_;
  std::unordered_map<std::uint64_t, graph::ValueId> captured_ids_;
  std::vector<Known> variables_;
  std::unordered_map<std::uint64_t, std::size_t> variable_ids_;
};

// The one that this thread writes to; null: ops run at once.
Trace*& current_trace();

// Ops of this thread go there while it stands; null: they run at once.
class TraceScope {
 public:
  explicit TraceScope(Trace* trace) : before_(current_trace()) {
    current_trace() = trace;
  }
  ~TraceScope() { current_trace() = before_; }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  Trace* before_;
};

// What is traced while it stands belongs to this phase.
class PhaseScope {
 public:
  explicit PhaseScope(graph::Phase phase) : trace_(current_trace()) {
    if (trace_ == nullptr) return;
    before_ = trace_->phase();
    trace_->set_phase(phase);
  }
  ~PhaseScope() {
    if (trace_) trace_->set_phase(before_);
  }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  Trace* trace_;
  graph::Phase before_ = graph::Phase::forward;
};

}  // namespace plimsoll::runtime
