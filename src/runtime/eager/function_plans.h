// Traces and plans of one function in one session, the last used first.
#pragma once

#include <list>

#include "plimsoll/function.h"
#include "runtime/eager/planned_call.h"

namespace plimsoll::runtime {

class FunctionPlans final : public EagerUser {
 public:
  FunctionPlans(std::shared_ptr<Eager> eager, const FunctionOptions& options)
      : eager_(std::move(eager)), options_(options) {}

  // The plan for such arguments, which is made where there is none. Throws what
  // the body throws.
  Result<PlannedCall*> find(std::span<const Tensor> arguments,
                            const FunctionCalls::Body& body);
  // The results. What else is kept goes where memory runs out.
  Result<Values> call(std::span<const Tensor> arguments,
                      const FunctionCalls::Body& body);

  const std::shared_ptr<Eager>& eager() const { return eager_; }
  std::int64_t traces() const { return traces_made_; }
  std::int64_t plans() const { return plans_made_; }
  void let_go() noexcept override;

 private:
  struct TraceEntry {
    graph::TypeList signature;
    std::shared_ptr<const TracedGraph> traced;  // null: not with an open batch
  };
  struct PlanEntry {
    graph::TypeList arguments;
    std::shared_ptr<const TracedGraph> traced;
    std::unique_ptr<PlannedCall> call;
  };

  std::shared_ptr<const TracedGraph> trace(const graph::TypeList& signature,
                                           const FunctionCalls::Body& body);
  std::shared_ptr<const TracedGraph> find_trace(
      const graph::TypeList& arguments, std::int64_t batch,
      const FunctionCalls::Body& body);
  TraceEntry* known_trace(const graph::TypeList& signature);
  void add_trace(TraceEntry entry);
  // It is the last used.
  void use(const std::shared_ptr<const TracedGraph>& traced);
  Result<PlannedCall*> add_plan(graph::TypeList types,
                                const FunctionCalls::Body& body);
  // Plans but the first go; whether there were any.
  bool drop_others();

  std::shared_ptr<Eager> eager_;
  const FunctionOptions options_;
  std::list<TraceEntry> trace_entries_;
  std::list<PlanEntry> plan_entries_;
  std::int64_t traces_made_ = 0;
  std::int64_t plans_made_ = 0;
};

}  // namespace plimsoll::runtime
