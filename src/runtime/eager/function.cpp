#include "plimsoll/function.h"

#include <atomic>

#include "runtime/eager/dispatch.h"
#include "runtime/eager/function_plans.h"
#include "runtime/eager/tensor_value.h"

namespace plimsoll {
namespace {

std::atomic<bool> eagerly{false};

}  // namespace

struct FunctionCalls::Impl {
  FunctionOptions options;
  std::shared_ptr<runtime::FunctionPlans> plans;  // of the session used last
  std::int64_t traces_before = 0;                 // in other sessions
  std::int64_t plans_before = 0;

  // The session of the arguments, or the current one.
  std::shared_ptr<runtime::Eager> home_of(
      std::span<const Tensor> arguments) const;
  runtime::FunctionPlans& plans_in(const std::shared_ptr<runtime::Eager>& home);
};

std::shared_ptr<runtime::Eager> FunctionCalls::Impl::home_of(
    std::span<const Tensor> arguments) const {
  std::shared_ptr<runtime::Eager> home;
  for (const Tensor& argument : arguments) {
    const auto& value = runtime::value_of(argument, options.name.c_str());
    throw_if_error(runtime::check_in_memory(*value));
    if (home == nullptr) home = value->home;
    if (home == value->home) continue;
    throw_error({ErrorCode::bad_input,
                 fmt::format("{}: the arguments belong to different sessions",
                             options.name)});
  }
  return home ? home : value_or_throw(runtime::current_eager());
}

runtime::FunctionPlans& FunctionCalls::Impl::plans_in(
    const std::shared_ptr<runtime::Eager>& home) {
  if (plans && plans->eager() == home) return *plans;
  if (plans) {
    traces_before += plans->traces();
    plans_before += plans->plans();
  }
  plans = std::make_shared<runtime::FunctionPlans>(home, options);
  home->join(plans);
  return *plans;
}

FunctionCalls::FunctionCalls(FunctionOptions options)
    : impl_(std::make_unique<Impl>()) {
  impl_->options = std::move(options);
}
FunctionCalls::~FunctionCalls() = default;
FunctionCalls::FunctionCalls(FunctionCalls&&) noexcept = default;
FunctionCalls& FunctionCalls::operator=(FunctionCalls&&) noexcept = default;

std::vector<Tensor> FunctionCalls::call(std::span<const Tensor> arguments,
                                        const Body& body) {
  if (eagerly.load(std::memory_order_relaxed) || runtime::current_trace() ||
      !runtime::recording_tapes().empty()) {
    return body(arguments);
  }
  auto& plans = impl_->plans_in(impl_->home_of(arguments));
  std::vector<Tensor> results;
  for (auto& value : value_or_throw(plans.call(arguments, body))) {
    results.emplace_back(std::move(value));
  }
  return results;
}

std::int64_t FunctionCalls::planned_bytes(std::span<const Tensor> arguments,
                                          const Body& body) {
  auto& plans = impl_->plans_in(impl_->home_of(arguments));
  throw_if_error(plans.eager()->check_open());
  return value_or_throw(plans.find(arguments, body))->arena_bytes();
}

std::int64_t FunctionCalls::traces() const {
  return impl_->traces_before + (impl_->plans ? impl_->plans->traces() : 0);
}
std::int64_t FunctionCalls::plans() const {
  return impl_->plans_before + (impl_->plans ? impl_->plans->plans() : 0);
}

void run_functions_eagerly(bool now) { eagerly = now; }
bool functions_run_eagerly() { return eagerly; }

}  // namespace plimsoll
