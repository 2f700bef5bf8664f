#include "plimsoll/session.h"

#include <fmt/core.h>

#include <cstdlib>

#include "base/units.h"
#include "train/calibration.h"
#include "train/session_state.h"

namespace plimsoll {

void train::throw_error(const Error& error) {
  static_assert(static_cast<int>(Failure::internal) ==
                static_cast<int>(ErrorCode::internal));
  throw Exception(static_cast<Failure>(error.code), error.message);
}

Session::Session(const SessionOptions& options) {
  if (options.device != "cpu") {
    train::throw_error(
        {ErrorCode::bad_input,
         fmt::format("device \"{}\": this version has the device \"cpu\" only",
                     options.device)});
  }
  SystemMemory system = train::value_or_throw(read_system_memory());
  BudgetRequest request;
  if (!options.host.empty()) request.flag = options.host;
  if (const char* text = std::getenv("PLIMSOLL_HOST_MEMORY")) {
    request.environment = text;
  }
  Budget budget = train::value_or_throw(resolve_host_budget(request, system));
  DeviceProfile profile =
      train::value_or_throw(train::cpu_profile(options.threads, ""));
  state_ = std::make_unique<train::SessionState>(
      std::move(budget), std::move(system), std::move(profile));
}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

std::int64_t Session::host_budget_bytes() const { return state_->budget.bytes; }

std::int64_t Session::host_held_bytes() const {
  return state_->machine.ledger().held_bytes(Space::host);
}

std::string Session::explain() const {
  std::string text;
  for (const Holding& holding : state_->machine.ledger().snapshot()) {
    text += fmt::format(
        "{:>16}  {:<11} {}  {}\n", format_exact_bytes(holding.bytes),
        name_of(holding.purpose), name_of(holding.space), holding.owner);
  }
  return text;
}

}  // namespace plimsoll
