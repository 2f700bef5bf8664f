#include "runtime/eager/tape.h"

#include <fmt/core.h>

#include <algorithm>

#include "ops/registry.h"
#include "runtime/eager/dispatch.h"
#include "runtime/eager/trace.h"

namespace plimsoll::runtime {
namespace {

using Ref = GradientRecipe::Ref;

// Gradients of one op's inputs by its recipe; what is not needed any more goes
// at once.
class Cook {
 public:
  Cook(const GradientRecipe& recipe, const Values& inputs,
       const Values& outputs, const Values& flows, Eager* home)
      : recipe_(recipe),
        inputs_(inputs),
        outputs_(outputs),
        flows_(flows),
        home_(home) {
    for (const auto& step : recipe.steps) {
      made_.emplace_back(static_cast<std::size_t>(step.outputs));
    }
    find_last_readers();
  }

  Status run() {
    for (std::size_t i = 0; i < recipe_.steps.size(); ++i) {
      const auto& step = recipe_.steps[i];
      Values operands;
      for (const Ref& ref : step.operands) operands.push_back(get(ref));
      PLIMSOLL_ASSIGN(made_[i],
                      dispatch(*step.op, operands, step.attrs, home_));
      for (const std::size_t done : done_after_[i]) made_[done].clear();
    }
    return {};
  }

  ValuePtr get(const Ref& ref) const {
    const auto at = static_cast<std::size_t>(ref.index);
    switch (ref.kind) {
      case Ref::Kind::input:
        return inputs_[at];
      case Ref::Kind::output:
        return outputs_[at];
      case Ref::Kind::flow:
        return flows_[at];
      case Ref::Kind::step:
        return made_[at][static_cast<std::size_t>(ref.result)];
      case Ref::Kind::none:
        break;
    }
    return nullptr;
  }

 private:
  void find_last_readers() {
    const std::size_t steps = recipe_.steps.size();
    done_after_.resize(steps);
    std::vector<std::size_t> last(steps, steps);
    for (std::size_t i = 0; i < steps; ++i) {
      for (const Ref& ref : recipe_.steps[i].operands) {
        if (ref.kind == Ref::Kind::step) {
          last[static_cast<std::size_t>(ref.index)] = i;
        }
      }
    }
    for (const Ref& ref : recipe_.gradients) {
      if (ref.kind == Ref::Kind::step) {
        last[static_cast<std::size_t>(ref.index)] = steps;
      }
    }
    for (std::size_t i = 0; i < steps; ++i) {
      if (last[i] < steps) done_after_[last[i]].push_back(i);
    }
  }

  const GradientRecipe& recipe_;
  const Values& inputs_;
  const Values& outputs_;
  const Values& flows_;
  Eager* const home_;
  std::vector<Values> made_;  // by step
  std::vector<std::vector<std::size_t>> done_after_;
};

// What may be read later: from whichever outputs gradients come, or, where a
// rule does not take all of them, from the first.
Result<std::shared_ptr<const GradientRecipe>> widest_recipe(
    PreparedOp& op, const std::vector<bool>& wanted) {
  std::vector<bool> flowing;
  for (const graph::TensorType& type : op.outputs) {
    flowing.push_back(is_floating(type.dtype));
  }
  auto recipe = op.gradient_for(wanted, flowing);
  if (recipe || flowing.size() < 2) return recipe;
  std::fill(flowing.begin() + 1, flowing.end(), false);
  return op.gradient_for(wanted, flowing);
}

}  // namespace

void Tape::read(std::uint64_t variable, const ValuePtr& value) {
  auto& reads = reads_[variable];
  if (!reads.empty() && reads.back() == value->id) return;
  reads.push_back(value->id);
  watch(value);
}

std::vector<std::uint64_t> Tape::reads_of(std::uint64_t variable) const {
  const auto found = reads_.find(variable);
  return found == reads_.end() ? std::vector<std::uint64_t>{} : found->second;
}

void Tape::record(const std::shared_ptr<PreparedOp>& op,
                  std::span<const ValuePtr> inputs,
                  std::span<const ValuePtr> outputs) {
  std::vector<bool> wanted(inputs.size(), false);
  bool any = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    wanted[i] = knows(*inputs[i]) && is_floating(inputs[i]->type.dtype);
    any = any || wanted[i];
  }
  if (!any) return;
  Entry entry;
  entry.op = op;
  // Whether there is no gradient matters once one is asked for.
  const auto recipe = widest_recipe(*op, wanted);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    entry.input_ids.push_back(wanted[i] ? inputs[i]->id : 0);
    const bool read = recipe && (*recipe)->reads_input[i];
    entry.inputs.push_back(read ? inputs[i] : nullptr);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    entry.output_ids.push_back(outputs[i]->id);
    const bool read = recipe && (*recipe)->reads_output[i];
    entry.outputs.push_back(read ? outputs[i] : nullptr);
    known_.insert(outputs[i]->id);
  }
  entries_.push_back(std::move(entry));
}

Status Tape::step_back(const Entry& entry,
                       const std::unordered_set<std::uint64_t>& relevant,
                       Flows& flows,
                       const std::unordered_set<std::uint64_t>& kept) {
  Values arriving;
  std::vector<bool> flowing;
  Eager* home = nullptr;
  for (const std::uint64_t id : entry.output_ids) {
    const auto flow = flows.find(id);
    arriving.push_back(flow == flows.end() ? nullptr : flow->second);
    flowing.push_back(arriving.back() != nullptr);
    if (flowing.back()) home = arriving.back()->home.get();
    if (flow != flows.end() && !kept.contains(id)) flows.erase(flow);
  }
  std::vector<bool> wanted;
  for (const std::uint64_t id : entry.input_ids) {
    wanted.push_back(relevant.contains(id));
  }
  if (home == nullptr ||
      std::find(wanted.begin(), wanted.end(), true) == wanted.end()) {
    return {};
  }
  PLIMSOLL_ASSIGN(const auto recipe, entry.op->gradient_for(wanted, flowing));
  Cook cook(*recipe, entry.inputs, entry.outputs, arriving, home);
  PLIMSOLL_RETURN_IF_ERROR(cook.run());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ValuePtr gradient = cook.get(recipe->gradients[i]);
    if (!gradient) continue;
    ValuePtr& sum = flows[entry.input_ids[i]];
    if (!sum) {
      sum = std::move(gradient);
      continue;
    }
    const ValuePtr both[] = {sum, gradient};
    PLIMSOLL_ASSIGN(sum, dispatch_one(*ops::find_op("add"), both));
  }
  return {};
}

Result<Values> Tape::gradient(const ValuePtr& target, const ValuePtr& seed,
                              std::span<const std::uint64_t> sources,
                              bool keep) {
  const PhaseScope phase(graph::Phase::backward);
  // What a source moves.
  std::unordered_set<std::uint64_t> relevant(sources.begin(), sources.end());
  const auto kept = relevant;
  for (const Entry& entry : entries_) {
    const bool moved = std::any_of(
        entry.input_ids.begin(), entry.input_ids.end(),
        [&](std::uint64_t id) { return id != 0 && relevant.contains(id); });
    if (moved)
      relevant.insert(entry.output_ids.begin(), entry.output_ids.end());
  }
  Flows flows;
  if (seed) {
    flows[target->id] = seed;
  } else {
    PLIMSOLL_ASSIGN(flows[target->id],
                    filled(target->type, 1, target->home.get()));
  }
  Status status;
  for (std::size_t i = entries_.size(); i-- > 0 && status.ok();) {
    status = step_back(entries_[i], relevant, flows, kept);
    if (!keep) entries_.pop_back();
  }
  if (!keep) {
    entries_.clear();
    known_.clear();
    reads_.clear();
  }
  if (!status) return status.error();
  Values gradients;
  for (const std::uint64_t source : sources) {
    const auto flow = flows.find(source);
    gradients.push_back(flow == flows.end() ? nullptr : flow->second);
  }
  return gradients;
}

}  // namespace plimsoll::runtime
