// What the process takes beside its values, charged with the first of them:
// the program itself, a device's context, libraries.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/ledger.h"

namespace plimsoll::runtime {

class ProcessBytes {
 public:
  explicit ProcessBytes(Ledger& ledger) : ledger_(ledger) {}

  // Counts this too; where its owner counts already, the larger of the two.
  // Charged at once if the rest is: over the limit it does not count.
  Status add(const Holding& holding);
  // All or nothing.
  Status charge();
  bool charged() const { return charged_; }
  // A job charges the process itself: until charge() it is the job's.
  void release() noexcept;
  // As far as it is charged here. The host's include pinned memory.
  std::int64_t held_bytes(Space space) const;

 private:
  struct Part {
    Holding holding;
    LedgerEntry entry;
  };

  Ledger& ledger_;
  std::vector<Part> parts_;
  bool charged_ = false;
};

}  // namespace plimsoll::runtime
