// One reserved range of a space in which a plan's buffers have fixed offsets.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "memory/ledger.h"
#include "plimsoll/memory_source.h"

namespace plimsoll {

class Arena {
 public:
  Arena() = default;
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  ~Arena();

  // Charges every holding, then maps their sum (which must be a multiple of
  // the source's granularity). On any failure nothing stays charged or mapped.
  static Result<Arena> commit(MemorySource& source, Ledger& ledger,
                              std::span<const Holding> holdings);

  // Gives everything after the first `bytes` (rounded up to what the source
  // gives back) back; what stays is charged as `holding`.
  Status shrink_to(std::int64_t bytes, Ledger& ledger, Holding holding);

  std::byte* data() const { return start_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  MemorySource* source_ = nullptr;
  std::byte* start_ = nullptr;
  std::int64_t bytes_ = 0;
  std::vector<LedgerEntry> entries_;
};

}  // namespace plimsoll
