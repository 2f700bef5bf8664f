#include "train/update_graph.h"

#include <algorithm>

#include "runtime/eager/dispatch.h"
#include "runtime/eager/trace.h"

namespace plimsoll::train {
namespace {

using graph::ValueId;
using runtime::ValuePtr;
using runtime::VariablePtr;

bool is_shared(const std::vector<ValueId>& ids, ValueId id) {
  return std::count(ids.begin(), ids.end(), id) > 1;
}

// The nodes of an update, one after the other. States whose old values nobody
// reads any more are written to in place.
class UpdateRun {
 public:
  UpdateRun(const UpdateGraph& update, std::span<const ValuePtr> gradients)
      : update_(update),
        graph_(update.graph),
        home_(gradients[0]->home.get()),
        values_(graph_.values.size()),
        last_reader_(graph_.values.size(), -1),
        state_of_(graph_.values.size(), -1),
        assigned_to_(graph_.values.size(), -1),
        // Traced, or with a tape that looks on, every value is one of its own.
        in_place_(runtime::current_trace() == nullptr &&
                  runtime::recording_tapes().empty()) {
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      values_[graph_.inputs[i].pos()] = gradients[i];
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const ValueId id : graph_.nodes[i].inputs) {
        last_reader_[id.pos()] = static_cast<int>(i);
      }
    }
    for (std::size_t i = 0; i < graph_.states.size(); ++i) {
      state_of_[graph_.states[i].value.pos()] = static_cast<int>(i);
    }
    for (const graph::Assign& assign : graph_.assigns) {
      assigned_to_[assign.value.pos()] = state_of_[assign.state.pos()];
    }
  }

  Status run() {
    const runtime::PhaseScope phase(graph::Phase::update);
    for (std::size_t i = 0; i < update_.states.size(); ++i) {
      PLIMSOLL_ASSIGN(values_[graph_.states[i].value.pos()],
                      runtime::read_variable(update_.states[i]));
    }
    // What needs memory comes first: then nothing has changed where there is
    // none.
    for (const auto& step :
         {&UpdateRun::run_node, &UpdateRun::make_ready, &UpdateRun::write}) {
      for (const graph::Node& node : graph_.nodes) {
        const bool writes = writes_states(node);
        if (writes != (step != &UpdateRun::run_node)) continue;
        PLIMSOLL_RETURN_IF_ERROR((this->*step)(node));
      }
    }
    for (const graph::Assign& assign : graph_.assigns) {
      if (values_[assign.value.pos()] == nullptr) continue;  // is there already
      PLIMSOLL_RETURN_IF_ERROR(runtime::assign_variable(
          variable_of(assign.state), std::move(values_[assign.value.pos()])));
    }
    return {};
  }

 private:
  const VariablePtr& variable_of(ValueId state) const {
    return update_.states[static_cast<std::size_t>(state_of_[state.pos()])];
  }

  // Whether all outputs can be written where their states lie: each may be, is
  // assigned to the state that the op reads, and no later node reads that.
  bool writes_states(const graph::Node& node) const {
    const auto position = static_cast<int>(&node - graph_.nodes.data());
    if (!in_place_ || node.op->in_place.size() != node.outputs.size()) {
      return false;
    }
    for (const graph::InPlace& pair : node.op->in_place) {
      const auto input = node.inputs[static_cast<std::size_t>(pair.input)];
      const auto output = node.outputs[static_cast<std::size_t>(pair.output)];
      const int state = assigned_to_[output.pos()];
      if (state < 0 || state != state_of_[input.pos()] ||
          last_reader_[input.pos()] > position ||
          last_reader_[output.pos()] >= 0 || is_shared(node.inputs, input)) {
        return false;
      }
    }
    return true;
  }

  runtime::Values inputs_of(const graph::Node& node) const {
    runtime::Values inputs;
    for (const ValueId id : node.inputs) inputs.push_back(values_[id.pos()]);
    return inputs;
  }

  Status run_node(const graph::Node& node) {
    PLIMSOLL_ASSIGN(auto outputs, runtime::dispatch(*node.op, inputs_of(node),
                                                    node.attrs, home_));
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      values_[node.outputs[k].pos()] = std::move(outputs[k]);
    }
    return {};
  }

  // States that nobody else holds, and the kernel that will write them.
  Status make_ready(const graph::Node& node) {
    for (const graph::InPlace& pair : node.op->in_place) {
      const auto input = node.inputs[static_cast<std::size_t>(pair.input)];
      const VariablePtr& variable = variable_of(input);
      values_[input.pos()] = nullptr;
      PLIMSOLL_RETURN_IF_ERROR(runtime::own_value(*variable));
      values_[input.pos()] = variable->value;
    }
    return home_->prepare(*node.op, inputs_of(node), node.attrs);
  }

  Status write(const graph::Node& node) {
    std::vector<std::shared_ptr<runtime::Value>> into(node.outputs.size());
    for (const graph::InPlace& pair : node.op->in_place) {
      const auto input = node.inputs[static_cast<std::size_t>(pair.input)];
      into[static_cast<std::size_t>(pair.output)] = variable_of(input)->value;
    }
    std::shared_ptr<runtime::PreparedOp> prepared;
    PLIMSOLL_RETURN_IF_ERROR(
        home_->apply(*node.op, inputs_of(node), node.attrs, prepared, into));
    return {};
  }

  const UpdateGraph& update_;
  const graph::Graph& graph_;
  runtime::Eager* home_;
  runtime::Values values_;
  std::vector<int> last_reader_;  // by value: a node; -1: none
  std::vector<int> state_of_;     // by value: which state's it is; -1: none's
  std::vector<int> assigned_to_;  // by value: the state; -1: none
  const bool in_place_;
};

}  // namespace

Status run_update(const UpdateGraph& update,
                  std::span<const ValuePtr> gradients) {
  return UpdateRun(update, gradients).run();
}

}  // namespace plimsoll::train
