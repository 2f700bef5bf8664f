#include "runtime/eager/function_plans.h"

#include <algorithm>

#include "base/throw_error.h"
#include "plimsoll/error.h"
#include "runtime/eager/dispatch.h"
#include "runtime/eager/tensor_value.h"

namespace plimsoll::runtime {
namespace {

using graph::TypeList;

Values values_of(std::span<const Tensor> tensors, const char* what) {
  Values values;
  for (const Tensor& tensor : tensors) {
    values.push_back(value_of(tensor, what));
  }
  return values;
}

// The first extent of the first argument that has one; 0: there is none.
std::int64_t batch_of(const TypeList& arguments) {
  for (const graph::TensorType& type : arguments) {
    if (type.shape.rank() > 0) return type.shape[0].size;
  }
  return 0;
}

// Arguments of this batch, with B in its place.
TypeList open_batch(TypeList arguments, std::int64_t batch) {
  for (graph::TensorType& type : arguments) {
    std::vector<Dim> dims = type.shape.dims();
    if (dims.empty() || dims[0].size != batch) continue;
    dims[0] = Dim::batch();
    type.shape = Shape(std::move(dims));
  }
  return arguments;
}

}  // namespace

void FunctionPlans::let_go() noexcept {
  plan_entries_.clear();
  trace_entries_.clear();
}

std::shared_ptr<const TracedGraph> FunctionPlans::trace(
    const TypeList& signature, const FunctionCalls::Body& body) {
  Trace trace(eager_);
  std::vector<Tensor> arguments;
  for (const graph::TensorType& type : signature) {
    arguments.emplace_back(trace.argument(type));
  }
  const TraceScope scope(&trace);
  const Values results = values_of(body(arguments), "a function's result");
  auto traced = std::make_shared<const TracedGraph>(
      value_or_throw(trace.finish(results)));
  ++traces_made_;
  return traced;
}

FunctionPlans::TraceEntry* FunctionPlans::known_trace(
    const TypeList& signature) {
  const auto found = std::find_if(
      trace_entries_.begin(), trace_entries_.end(),
      [&](const TraceEntry& entry) { return entry.signature == signature; });
  if (found == trace_entries_.end()) return nullptr;
  trace_entries_.splice(trace_entries_.begin(), trace_entries_, found);
  return &trace_entries_.front();
}

void FunctionPlans::add_trace(TraceEntry entry) {
  trace_entries_.push_front(std::move(entry));
  while (trace_entries_.size() >
         static_cast<std::size_t>(std::max(options_.most_traces, 1))) {
    const auto& last = trace_entries_.back().traced;
    plan_entries_.remove_if(
        [&](const PlanEntry& plan) { return plan.traced == last; });
    trace_entries_.pop_back();
  }
}

std::shared_ptr<const TracedGraph> FunctionPlans::find_trace(
    const TypeList& arguments, std::int64_t batch,
    const FunctionCalls::Body& body) {
  const TypeList open = open_batch(arguments, batch);
  if (batch > 0) {
    if (const TraceEntry* known = known_trace(open)) {
      if (known->traced) return known->traced;
    } else {
      // What goes wrong here may be due to the open batch alone.
      try {
        auto traced = trace(open, body);
        add_trace({open, traced});
        return traced;
      } catch (const Exception& exception) {
        if (exception.failure() == Failure::over_budget) throw;
      }
    }
  }
  if (const TraceEntry* known = known_trace(arguments)) return known->traced;
  auto traced = trace(arguments, body);
  if (batch > 0 && known_trace(open) == nullptr) add_trace({open, nullptr});
  add_trace({arguments, traced});
  return traced;
}

Result<PlannedCall*> FunctionPlans::add_plan(TypeList types,
                                             const FunctionCalls::Body& body) {
  const std::int64_t batch = batch_of(types);
  auto traced = find_trace(types, batch, body);
  PLIMSOLL_ASSIGN(auto call,
                  PlannedCall::plan(*traced, std::max<std::int64_t>(batch, 1),
                                    *eager_, options_.name));
  ++plans_made_;
  plan_entries_.push_front(
      {std::move(types), std::move(traced), std::move(call)});
  while (plan_entries_.size() >
         static_cast<std::size_t>(std::max(options_.most_plans, 1))) {
    plan_entries_.pop_back();
  }
  return plan_entries_.front().call.get();
}

Result<PlannedCall*> FunctionPlans::find(std::span<const Tensor> arguments,
                                         const FunctionCalls::Body& body) {
  for (auto entry = plan_entries_.begin(); entry != plan_entries_.end();
       ++entry) {
    const bool same = std::equal(
        arguments.begin(), arguments.end(), entry->arguments.begin(),
        entry->arguments.end(), [](const Tensor& tensor, const auto& type) {
          return tensor.value()->type == type;
        });
    if (!same) continue;
    if (entry != plan_entries_.begin()) {
      plan_entries_.splice(plan_entries_.begin(), plan_entries_, entry);
      use(entry->traced);
    }
    return entry->call.get();
  }
  TypeList types;
  for (const Tensor& argument : arguments) {
    types.push_back(argument.value()->type);
  }
  auto made = add_plan(types, body);
  if (made || made.error().code != ErrorCode::over_budget) return made;
  if (plan_entries_.empty()) return made;
  plan_entries_.clear();
  return add_plan(std::move(types), body);
}

void FunctionPlans::use(const std::shared_ptr<const TracedGraph>& traced) {
  const auto found = std::find_if(
      trace_entries_.begin(), trace_entries_.end(),
      [&](const TraceEntry& entry) { return entry.traced == traced; });
  if (found != trace_entries_.end()) {
    trace_entries_.splice(trace_entries_.begin(), trace_entries_, found);
  }
}

bool FunctionPlans::drop_others() {
  if (plan_entries_.size() < 2) return false;
  plan_entries_.erase(std::next(plan_entries_.begin()), plan_entries_.end());
  return true;
}

Result<Values> FunctionPlans::call(std::span<const Tensor> arguments,
                                   const FunctionCalls::Body& body) {
  PLIMSOLL_RETURN_IF_ERROR(eager_->check_open());
  PLIMSOLL_ASSIGN(PlannedCall* const call, find(arguments, body));
  auto results = call->run(arguments);
  if (results || results.error().code != ErrorCode::over_budget) {
    return results;
  }
  return drop_others() ? call->run(arguments) : std::move(results);
}

}  // namespace plimsoll::runtime
