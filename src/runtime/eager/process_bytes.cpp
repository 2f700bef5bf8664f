#include "runtime/eager/process_bytes.h"

#include <algorithm>

namespace plimsoll::runtime {

Status ProcessBytes::add(const Holding& holding) {
  const auto found =
      std::find_if(parts_.begin(), parts_.end(), [&](const Part& part) {
        return part.holding.owner == holding.owner &&
               part.holding.space == holding.space;
      });
  if (found == parts_.end()) {
    Part part{holding, {}};
    if (charged_) {
      PLIMSOLL_ASSIGN(part.entry, ledger_.charge(holding));
    }
    parts_.push_back(std::move(part));
    return {};
  }
  if (holding.bytes <= found->holding.bytes) return {};
  if (charged_) {
    PLIMSOLL_RETURN_IF_ERROR(found->entry.resize(holding.bytes, holding.owner));
  }
  found->holding.bytes = holding.bytes;
  return {};
}

Status ProcessBytes::charge() {
  if (charged_) return {};
  for (Part& part : parts_) {
    auto entry = ledger_.charge(part.holding);
    if (!entry) {
      release();
      return std::move(entry).error();
    }
    part.entry = *std::move(entry);
  }
  charged_ = true;
  return {};
}

void ProcessBytes::release() noexcept {
  for (Part& part : parts_) part.entry.release();
  charged_ = false;
}

std::int64_t ProcessBytes::held_bytes(Space space) const {
  std::int64_t bytes = 0;
  for (const Part& part : parts_) {
    const bool counts =
        part.holding.space == space ||
        (space == Space::host && part.holding.space == Space::pinned);
    if (charged_ && counts) bytes += part.holding.bytes;
  }
  return bytes;
}

}  // namespace plimsoll::runtime
