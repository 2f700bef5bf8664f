#include "device/inline_stream.h"

#include <fmt/core.h>

#include <cstddef>
#include <cstring>

namespace plimsoll {
namespace {

Status check_event(const Event& event) {
  if (dynamic_cast<const InlineEvent*>(&event) != nullptr) return {};
  return Error{ErrorCode::bad_input, "the event is of another device"};
}

}  // namespace

Status InlineStream::copy(void* to, const void* from, std::int64_t bytes,
                          CopyDirection) {
  if (bytes < 0 || (bytes > 0 && (to == nullptr || from == nullptr))) {
    return Error{ErrorCode::bad_input,
                 fmt::format("cannot copy {} bytes{}", bytes,
                             bytes < 0 ? "" : " from or to nowhere")};
  }
  // Ranges that overlap are allowed: the layout of an arena is the plan's.
  if (bytes > 0 && moves_bytes_) {
    std::memmove(to, from, static_cast<std::size_t>(bytes));
  }
  return {};
}

Status InlineStream::clear(void* start, std::int64_t bytes) {
  if (bytes < 0 || (bytes > 0 && start == nullptr)) {
    return Error{ErrorCode::bad_input,
                 fmt::format("cannot clear {} bytes{}", bytes,
                             bytes < 0 ? "" : " of nowhere")};
  }
  if (bytes > 0 && moves_bytes_) {
    std::memset(start, 0, static_cast<std::size_t>(bytes));
  }
  return {};
}

Status InlineStream::record(Event& event) { return check_event(event); }

Status InlineStream::wait(const Event& event) { return check_event(event); }

}  // namespace plimsoll
