#include "runtime/eager/owner_bytes.h"

#include <algorithm>
#include <tuple>

namespace plimsoll::runtime {

OwnerBytes::OwnerBytes(Space space) : space_(space) {
  number("eager", Purpose::activations);
}

std::int32_t OwnerBytes::number(const std::string& name, Purpose purpose) {
  const auto known = numbers_.find({name, purpose});
  if (known != numbers_.end()) return known->second;
  if (owners_.size() >= kMost) return 0;
  const auto next = static_cast<std::int32_t>(owners_.size());
  numbers_.emplace(std::pair(name, purpose), next);
  const std::lock_guard lock(growing_);
  Owner& owner = owners_.emplace_back();
  owner.name = name;
  owner.purpose = purpose;
  count_ = owners_.size();
  return next;
}

void OwnerBytes::clear() noexcept {
  for (Owner& owner : owners_) owner.bytes = 0;
}

std::vector<Holding> OwnerBytes::snapshot() const {
  std::vector<Holding> holdings;
  {
    const std::lock_guard lock(growing_);
    for (const Owner& owner : owners_) {
      const std::int64_t bytes = owner.bytes.load(std::memory_order_relaxed);
      if (bytes > 0)
        holdings.push_back({owner.name, owner.purpose, space_, bytes});
    }
  }
  std::sort(holdings.begin(), holdings.end(),
            [](const Holding& a, const Holding& b) {
              return std::tie(b.bytes, a.owner) < std::tie(a.bytes, b.owner);
            });
  return holdings;
}

void OwnerBytes::list(const Holding& whole, std::vector<Holding>& to) const {
  std::int64_t left = whole.bytes;
  for (Holding& holding : snapshot()) {
    // A thread may be between its block and the ledger.
    holding.bytes = std::min(holding.bytes, left);
    left -= holding.bytes;
    if (holding.bytes > 0) to.push_back(std::move(holding));
  }
  if (left > 0) to.push_back({whole.owner, Purpose::cache, space_, left});
}

}  // namespace plimsoll::runtime
