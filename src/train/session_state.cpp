#include "train/session_state.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "base/environment.h"
#include "device/cpu/process_memory.h"
#include "device/device_name.h"
#include "runtime/eager/cuda_backend.h"
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
  if (options_.device_profile) return;
  eager_ = place_.device_budget ? make_eager_on_device() : make_eager();
  runtime::enter_eager(eager_);
}

std::shared_ptr<runtime::Eager> SessionState::make_eager() {
  Machine& here = *place_.machine;
  return std::make_shared<runtime::Eager>(
      runtime::EagerMachine{here.threads(), here.kernels(), here.host(),
                            here.ledger(), process_bytes(here.profile())});
}

// Expected is what a job without instructions would take; libraries count
// when an op first uses them.
std::shared_ptr<runtime::Eager> SessionState::make_eager_on_device() {
  Machine& here = *place_.machine;
  const DeviceProfile& device = *here.device_profile();
  const auto runtime = [](const char* owner, Space space, std::int64_t bytes) {
    return Holding{owner, Purpose::runtime, space, bytes};
  };
  return std::make_shared<runtime::Eager>(
      runtime::make_cuda_backend(
          {.open = [this] { return open_for_tensors(); },
           .expected = {runtime("context", Space::device,
                                device.runtime_floor_bytes +
                                    device.allowance_bytes),
                        runtime("process", Space::host,
                                device.host_floor_bytes +
                                    here.profile().allowance_bytes)},
           .profile = device,
           .host_kernel_bytes = std::max(device.instruction_bytes,
                                         here.profile().instruction_bytes),
           .host = here.host(),
           .ledger = here.ledger()}),
      here.ledger());
}

Result<runtime::OpenedDevice> SessionState::open_for_tensors() {
  Machine& here = *place_.machine;
  PLIMSOLL_RETURN_IF_ERROR(open_device());
  runtime::OpenedDevice opened{here.device(), {}};
  // What pools have mapped is charged by itself. Where others use the device
  // too, their bytes would count.
  if (!here.device_is_shared()) {
    opened.measured.push_back(
        {"context", Purpose::runtime, Space::device,
         here.device_bytes() - here.device()->memory().mapped_bytes()});
  }
  if (const auto status = read_process_status(getpid())) {
    opened.measured.push_back({"process", Purpose::runtime, Space::host,
                               status->rss_bytes - here.host().mapped_bytes()});
  }
  return opened;
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
  return eager_ ? held - eager_->process_held_bytes(space) : held;
}

void SessionState::check_trains() const {
  if (!options_.device_profile) return;
  throw_error({ErrorCode::bad_input,
               fmt::format("device_profile {}: a shipped profile plans only; "
                           "to train, open a session with a device",
                           *options_.device_profile)});
}

void SessionState::use_device() {
  machine();
  if (!place_.device_budget || options_.device_profile) return;
  throw_if_error(open_device());
}

Status SessionState::open_device() {
  Machine& here = *place_.machine;
  if (here.device() != nullptr) return {};
  PLIMSOLL_ASSIGN(const int ordinal, cuda_ordinal(options_.device));
  return here.open_device(ordinal, options_.compiler);
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
