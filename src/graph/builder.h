// Builds a graph node by node. The first mistake is kept and named; later
// calls do nothing, so that rules can be written as plain expressions.
#pragma once

#include <initializer_list>
#include <string>

#include "graph/graph.h"

namespace plimsoll::graph {

class Builder {
 public:
  ValueId input(std::string name, TensorType type);
  // States are matched by name between the programs of a job.
  ValueId state(std::string name, Role role, TensorType type);
  // The op's single output.
  ValueId emit(const OpDef& op, std::vector<ValueId> inputs, Attrs attrs = {});
  // All outputs of an op that has several; empty after a mistake.
  std::vector<ValueId> emit_all(const OpDef& op, std::vector<ValueId> inputs,
                                Attrs attrs = {});
  void assign(ValueId state, ValueId value);
  void output(ValueId value);

  // What following nodes belong to.
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  const std::string& scope() const { return scope_; }
  void set_phase(Phase phase) { phase_ = phase; }
  Phase phase() const { return phase_; }
  // Where following nodes run and states live.
  void set_place(Place place) { place_ = place; }
  Place place() const { return place_; }

  const Graph& graph() const { return graph_; }
  const TensorType& type(ValueId id) const { return graph_.type(id); }
  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  void fail(Error error);

  Result<Graph> finish() &&;

 private:
  Graph graph_;
  std::string scope_;
  Phase phase_ = Phase::forward;
  Place place_ = Place::home;
  Status status_;
};

}  // namespace plimsoll::graph
