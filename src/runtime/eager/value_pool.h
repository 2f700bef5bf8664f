// Memory of eager values: blocks that come and go, reused at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "memory/ledger.h"
#include "plimsoll/memory_source.h"
#include "runtime/eager/owner_bytes.h"
#include "runtime/eager/range_heap.h"
#include "runtime/eager/recent_blocks.h"
#include "runtime/eager/small_blocks.h"

namespace plimsoll::runtime {

struct Block {
  std::byte* data = nullptr;  // null: none
  std::int64_t bytes = 0;     // as asked for
  std::int32_t owner = 0;
};

// Any thread may allocate and release. A block is counted in whole units of
// 64 bytes, its alignment. What is held stays within a tenth of the most that
// was ever alive, or 2 MiB of what is alive, as far as free memory can be given
// back: that is, in whole granules of the source.
class ValuePool {
 public:
  // Both must live until close().
  ValuePool(MemorySource& source, Ledger& ledger, Space space = Space::host);
  ~ValuePool();
  ValuePool(const ValuePool&) = delete;
  ValuePool& operator=(const ValuePool&) = delete;

  // 64-byte aligned, not cleared. `owner` is a number that owner() gave. Over
  // the ledger's limit: an over_budget error after all that is free has been
  // given back; what is alive stays as it is.
  Result<Block> allocate(std::int64_t bytes, std::int32_t owner = 0);
  void release(const Block& block) noexcept;

  // The number of a name, under which bytes are counted. 0 is "eager".
  std::int32_t owner(const std::string& name,
                     Purpose purpose = Purpose::activations);
  // From here on it is that owner's.
  void hand_over(Block& block, std::int32_t owner) noexcept;

  // Gives everything back. Blocks that are still out there are void, and
  // releasing them does nothing.
  void close() noexcept;
  bool closed() const { return source_ == nullptr; }
  // Gives back what is free.
  void trim() noexcept;

  std::int64_t live_bytes() const;
  std::int64_t peak_live_bytes() const;
  std::int64_t held_bytes() const;  // what the system sees
  // Owners that hold something, largest first.
  std::vector<Holding> snapshot() const { return owners_.snapshot(); }

 private:
  struct Request {
    std::int64_t units = 0;
    std::int32_t owner = 0;
  };

  // Addresses, and a line in the ledger.
  Status open();
  // A block that is not at hand: from free memory, or new memory.
  Result<std::int64_t> make(const Request& request);
  Result<std::int64_t> take_range(std::int64_t bytes, std::int64_t alignment,
                                  const Request& request);
  // Memory for what bare_ lists; all or nothing.
  Status commit_bare(const Request& request);
  bool commit_each() noexcept;
  void put_back(std::int64_t start, std::int64_t units) noexcept;
  // What small and recent blocks keep at hand goes to the heap.
  bool settle() noexcept;
  void drop(std::int64_t bytes) noexcept;
  void drop_all() noexcept;
  std::int64_t bound_bytes(std::int64_t live_bytes) const;

  mutable std::mutex mutex_;
  std::atomic<MemorySource*> source_;
  Ledger& ledger_;
  const Space space_;
  std::byte* base_ = nullptr;
  std::int64_t reserved_bytes_ = 0;
  std::optional<RangeHeap> heap_;
  SmallBlocks small_;
  RecentBlocks recent_;
  std::int64_t turned_away_ = 0;
  std::vector<Range> bare_;

  std::int64_t live_bytes_ = 0;
  std::int64_t peak_live_bytes_ = 0;
  std::int64_t held_bytes_ = 0;
  OwnerBytes owners_;
  LedgerEntry entry_;
};

// A block, or none, that goes back with its holder.
class HeldBlock {
 public:
  HeldBlock(ValuePool& pool, const Block& block) : pool_(pool), block_(block) {}
  ~HeldBlock() { pool_.release(block_); }
  HeldBlock(const HeldBlock&) = delete;
  HeldBlock& operator=(const HeldBlock&) = delete;

  std::byte* data() const { return block_.data; }

 private:
  ValuePool& pool_;
  const Block block_;
};

}  // namespace plimsoll::runtime
