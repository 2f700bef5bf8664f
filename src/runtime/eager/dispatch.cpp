#include "runtime/eager/dispatch.h"

#include <fmt/core.h>

#include <algorithm>
#include <mutex>

#include "ops/registry.h"
#include "runtime/eager/tape.h"
#include "runtime/eager/trace.h"

namespace plimsoll::runtime {
namespace {

struct OpenSessions {
  std::mutex mutex;
  std::vector<std::weak_ptr<Eager>> eager;  // the last made last
};

OpenSessions& open_sessions() {
  static OpenSessions open;
  return open;
}

}  // namespace

Result<std::shared_ptr<Eager>> current_eager() {
  OpenSessions& open = open_sessions();
  const std::lock_guard lock(open.mutex);
  for (auto last = open.eager.rbegin(); last != open.eager.rend(); ++last) {
    if (auto eager = last->lock(); eager && !eager->closed()) return eager;
  }
  return Error{ErrorCode::bad_input,
               "tensors need a session, whose memory they take: "
               "plimsoll::Session session({.host = \"1GiB\"});"};
}

void enter_eager(const std::shared_ptr<Eager>& eager) {
  OpenSessions& open = open_sessions();
  const std::lock_guard lock(open.mutex);
  open.eager.push_back(eager);
}

void leave_eager(const Eager* eager) noexcept {
  OpenSessions& open = open_sessions();
  const std::lock_guard lock(open.mutex);
  std::erase_if(open.eager, [&](const std::weak_ptr<Eager>& one) {
    const auto held = one.lock();
    return !held || held.get() == eager;
  });
}

std::vector<Tape*>& recording_tapes() {
  thread_local std::vector<Tape*> tapes;
  return tapes;
}

Status check_in_memory(const Value& value) {
  if (value.trace == 0) return {};
  return Error{ErrorCode::bad_input,
               fmt::format("{} is a value of a traced function: it has no "
                           "numbers until the function runs, and is used in "
                           "there alone; return it, or set "
                           "run_functions_eagerly(true) to look at it",
                           value.type.to_string())};
}

namespace {

Result<Values> run_now(const graph::OpDef& op, std::span<const ValuePtr> inputs,
                       const graph::Attrs& attrs, Eager* home,
                       std::shared_ptr<PreparedOp>& prepared) {
  std::shared_ptr<Eager> current;
  if (!inputs.empty()) {
    home = inputs[0]->home.get();
  } else if (home == nullptr) {
    PLIMSOLL_ASSIGN(current, current_eager());
    home = current.get();
  }
  for (const ValuePtr& input : inputs) {
    PLIMSOLL_RETURN_IF_ERROR(check_in_memory(*input));
  }
  return home->apply(op, inputs, attrs, prepared);
}

}  // namespace

Result<Values> dispatch(const graph::OpDef& op,
                        std::span<const ValuePtr> inputs,
                        const graph::Attrs& attrs, Eager* home) {
  std::shared_ptr<PreparedOp> prepared;
  Trace* const trace = current_trace();
  PLIMSOLL_ASSIGN(auto outputs,
                  trace ? trace->emit(op, inputs, attrs, prepared)
                        : run_now(op, inputs, attrs, home, prepared));
  for (Tape* tape : recording_tapes()) tape->record(prepared, inputs, outputs);
  return outputs;
}

Result<ValuePtr> dispatch_one(const graph::OpDef& op,
                              std::span<const ValuePtr> inputs,
                              const graph::Attrs& attrs) {
  PLIMSOLL_ASSIGN(auto outputs, dispatch(op, inputs, attrs));
  return std::move(outputs[0]);
}

Result<ValuePtr> filled(const graph::TensorType& type, double number,
                        Eager* home) {
  PLIMSOLL_ASSIGN(auto made,
                  dispatch(*ops::find_op("constant"), {},
                           {{"shape", type.shape},
                            {"dtype", std::string(name_of(type.dtype))},
                            {"scalar", number}},
                           home));
  return std::move(made[0]);
}

}  // namespace plimsoll::runtime
