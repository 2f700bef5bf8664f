#include "plimsoll/session.h"

#include <fmt/core.h>

#include "base/units.h"
#include "train/session_state.h"

namespace plimsoll {

Session::Session(const SessionOptions& options)
    : state_(std::make_shared<train::SessionState>(options)) {}

Session::~Session() {
  if (state_) state_->close();
}

Session::Session(Session&&) noexcept = default;

Session& Session::operator=(Session&& other) noexcept {
  if (this == &other) return *this;
  if (state_) state_->close();
  state_ = std::move(other.state_);
  return *this;
}

void Session::close() {
  if (state_->close()) return;
  throw_error({ErrorCode::bad_input,
               "the session cannot be closed from inside one of its jobs"});
}

std::int64_t Session::host_budget_bytes() const {
  return state_->budget().bytes;
}

std::int64_t Session::device_budget_bytes() const {
  return state_->line().device_bytes;
}

std::int64_t Session::host_held_bytes() const {
  if (state_->closed()) return 0;
  return state_->machine().ledger().held_bytes(Space::host);
}

std::int64_t Session::device_held_bytes() const {
  if (state_->closed()) return 0;
  return state_->machine().ledger().held_bytes(Space::device);
}

std::string Session::explain() const {
  std::string text;
  if (state_->closed()) return text;
  for (const Holding& holding : state_->machine().ledger().snapshot()) {
    text += fmt::format(
        "{:>16}  {:<11} {}  {}\n", format_exact_bytes(holding.bytes),
        name_of(holding.purpose), name_of(holding.space), holding.owner);
  }
  return text;
}

}  // namespace plimsoll
