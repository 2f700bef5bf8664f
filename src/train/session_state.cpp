#include "train/session_state.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "base/environment.h"
#include "device/cpu/process_memory.h"
#include "device/device_name.h"
#include "runtime/eager/dispatch.h"
#include "train/process_config.h"

namespace plimsoll::train {
namespace {

// What the process takes beside its values: what is resident, and what will be
// once libraries have run.
std::int64_t process_bytes(const DeviceProfile& profile) {
  const auto status = read_process_status(getpid());
  return std::max(status ? status->rss_bytes : 0,
                  profile.runtime_floor_bytes + profile.allowance_bytes);
}

std::optional<std::string> said(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

RunOptions options_of(const SessionOptions& session) {
  RunOptions options;
  options.host_memory_flag = said(session.host);
  options.host_memory_env = environment_text("PLIMSOLL_HOST_MEMORY");
  options.device_memory_flag = said(session.device_memory);
  options.device_memory_env = environment_text("PLIMSOLL_DEVICE_MEMORY");
  options.device = session.device;
  options.device_profile = said(session.device_profile);
  options.threads = session.threads;
  const bool none = session.device == "cpu" && !options.device_profile;
  if (!none) {
    options.compiler = module_program();
  } else if (options.device_memory_flag) {
    throw_error({ErrorCode::bad_input,
                 fmt::format("device_memory {}: the CPU has no memory of its "
                             "own; name a device as well",
                             session.device_memory)});
  }
  return options;
}

}  // namespace

SessionState::SessionState(const SessionOptions& options)
    : options_(options_of(options)),
      place_(value_or_throw(open_workplace(JobSpec{}, options_))) {
  Ledger& ledger = place_.machine->ledger();
  ledger.set_limit(Space::host, place_.budget.bytes);
  if (place_.device_budget) {
    ledger.set_limit(Space::device, place_.device_budget->bytes);
  }
  freeze_config();
  if (place_.device_budget) return;
  Machine& here = *place_.machine;
  eager_ = std::make_shared<runtime::Eager>(
      runtime::EagerMachine{here.threads(), here.kernels(), here.host(), ledger,
                            process_bytes(here.profile())});
  runtime::enter_eager(eager_);
}

SessionState::~SessionState() { close_eager(); }

Machine& SessionState::machine() const {
  if (!place_.machine) {
    throw_error({ErrorCode::bad_input,
                 "the session is closed: open another and compile the model "
                 "for it"});
  }
  return *place_.machine;
}

Line SessionState::line() const {
  return {place_.budget.bytes,
          place_.device_budget ? place_.device_budget->bytes : 0};
}

std::int64_t SessionState::held_bytes(Space space) const {
  const std::int64_t held = machine().ledger().held_bytes(space);
  const bool process = space == Space::host && eager_;
  return process ? held - eager_->process_held_bytes() : held;
}

void SessionState::check_trains() const {
  if (!options_.device_profile) return;
  throw_error({ErrorCode::bad_input,
               fmt::format("device_profile {}: a shipped profile plans only; "
                           "to train, open a session with a device",
                           *options_.device_profile)});
}

void SessionState::use_device() {
  Machine& here = machine();
  if (!place_.device_budget || options_.device_profile) return;
  if (here.device() == nullptr) {
    const int ordinal = value_or_throw(cuda_ordinal(options_.device));
    throw_if_error(here.open_device(ordinal, options_.compiler));
  }
}

void SessionState::close_eager() noexcept {
  if (!eager_) return;
  eager_->close();
  runtime::leave_eager(eager_.get());
}

bool SessionState::close() noexcept {
  if (running_ > 0) return false;
  const std::lock_guard lock(mutex_);
  for (SessionUser* const user : users_) user->let_go();
  close_eager();
  place_.machine.reset();
  return true;
}

void SessionUser::join(SessionState& state) {
  leave();
  const std::lock_guard lock(state.mutex_);
  state.users_.insert(this);
  session_ = state.shared_from_this();
}

void SessionUser::leave() noexcept {
  if (!session_) return;
  {
    const std::lock_guard lock(session_->mutex_);
    session_->users_.erase(this);
  }
  session_.reset();
}

}  // namespace plimsoll::train
