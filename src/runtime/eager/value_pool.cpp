#include "runtime/eager/value_pool.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/units.h"

namespace plimsoll::runtime {
namespace {

constexpr std::int64_t kUnitBytes = 64;
static_assert(kUnitBytes == SmallBlocks::kUnitBytes);
static_assert(kUnitBytes == RecentBlocks::kUnitBytes);
static_assert(RecentBlocks::kLeastUnits == SmallBlocks::kMostUnits + 1);

// Addresses cost nothing, and there must be more than memory: free ranges
// without memory lie between blocks.
constexpr std::int64_t kMostReservedBytes = 1024 * kGiB;
constexpr std::int64_t kLeastReservedBytes = 64 * kMiB;

constexpr std::int64_t kFloorBytes = 2 * kMiB;
// Calls of the system are worth some bytes at a time.
constexpr std::int64_t kLeastDropBytes = 256 * kKiB;
// So many blocks find no room among the recent ones before these go.
constexpr std::int64_t kPatience = 1000;
constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max() / 2;

std::int64_t units_of(std::int64_t bytes) {
  return std::max<std::int64_t>((bytes + kUnitBytes - 1) / kUnitBytes, 1);
}

}  // namespace

ValuePool::ValuePool(MemorySource& source, Ledger& ledger, Space space)
    : source_(&source), ledger_(ledger), space_(space), owners_(space) {}

ValuePool::~ValuePool() { close(); }

Status ValuePool::open() {
  PLIMSOLL_ASSIGN(entry_,
                  ledger_.charge({"eager", Purpose::activations, space_, 0}));
  entry_.set_breakdown(owners_);
  const std::int64_t granule = source_.load()->granularity_bytes();
  bool refused = false;
  for (std::int64_t bytes = kMostReservedBytes; bytes >= kLeastReservedBytes;
       bytes /= 2) {
    reserved_bytes_ = round_up(bytes, granule);
    void* start = source_.load()->reserve(reserved_bytes_);
    if (start != nullptr && refused) {
      // Addresses are scarce: the rest of the process needs some too.
      source_.load()->unreserve(start, reserved_bytes_);
      reserved_bytes_ = round_up(bytes / 2, granule);
      start = source_.load()->reserve(reserved_bytes_);
    }
    if (start != nullptr) {
      base_ = static_cast<std::byte*>(start);
      heap_.emplace(reserved_bytes_, granule);
      return {};
    }
    refused = true;
  }
  return Error{ErrorCode::unsupported,
               fmt::format("eager values need {} of addresses, which their "
                           "memory source or the system refuses",
                           format_bytes(kLeastReservedBytes))};
}

Result<Block> ValuePool::allocate(std::int64_t bytes, std::int32_t owner) {
  if (bytes < 0 || bytes > kAll) {
    return Error{ErrorCode::bad_input,
                 fmt::format("a block of {} bytes is asked for", bytes)};
  }
  const std::int64_t units = units_of(bytes);
  const std::lock_guard lock(mutex_);
  if (closed() || !owners_.knows(owner)) {
    return Error{ErrorCode::bad_input,
                 closed() ? "a block is asked of a pool that is closed"
                          : fmt::format("no owner has the number {}", owner)};
  }
  std::int64_t start = -1;
  if (units <= SmallBlocks::kMostUnits) {
    start = small_.take(units);
  } else if (units <= RecentBlocks::kMostUnits) {
    start = recent_.take(units);
  }
  if (start < 0) {
    PLIMSOLL_ASSIGN(start, make({units, owner}));
  }
  live_bytes_ += units * kUnitBytes;
  peak_live_bytes_ = std::max(peak_live_bytes_, live_bytes_);
  owners_.add(owner, units * kUnitBytes);
  return Block{base_ + start, bytes, owner};
}

void ValuePool::release(const Block& block) noexcept {
  if (block.data == nullptr) return;
  const std::int64_t units = units_of(block.bytes);
  const std::lock_guard lock(mutex_);
  if (closed()) return;
  live_bytes_ -= units * kUnitBytes;
  owners_.add(block.owner, -units * kUnitBytes);
  put_back(block.data - base_, units);
  // While little is alive, the bound sinks with it.
  const std::int64_t excess = held_bytes_ - bound_bytes(live_bytes_);
  if (excess > 0 && heap_->can_drop()) drop(excess);
}

void ValuePool::put_back(std::int64_t start, std::int64_t units) noexcept {
  if (units <= SmallBlocks::kMostUnits) {
    const std::int64_t slab = small_.give(start, units);
    if (slab >= 0) heap_->give({slab, SmallBlocks::kSlabBytes});
    return;
  }
  if (units <= RecentBlocks::kMostUnits) {
    if (recent_.give(start, units)) return;
    // Others than those at hand come and go: at times, room for them.
    if (++turned_away_ % kPatience == 0) settle();
  }
  heap_->give({start, units * kUnitBytes});
}

Result<std::int64_t> ValuePool::make(const Request& request) {
  if (!heap_) PLIMSOLL_RETURN_IF_ERROR(open());
  const std::int64_t units = request.units;
  if (units > SmallBlocks::kMostUnits) {
    return take_range(units * kUnitBytes, kUnitBytes, request);
  }
  PLIMSOLL_ASSIGN(
      const std::int64_t slab,
      take_range(SmallBlocks::kSlabBytes, SmallBlocks::kSlabBytes, request));
  small_.add_slab(slab, units);
  return small_.take(units);
}

Result<std::int64_t> ValuePool::take_range(std::int64_t bytes,
                                           std::int64_t alignment,
                                           const Request& request) {
  std::int64_t start = heap_->take(bytes, alignment);
  if (start < 0 && settle()) start = heap_->take(bytes, alignment);
  if (start >= 0) return start;
  start = heap_->place(bytes, alignment);
  if (start < 0) {
    return Error{
        ErrorCode::over_budget,
        fmt::format("\"{}\" asks for {} ({}), for which {} of "
                    "addresses have no place",
                    owners_.name(request.owner), format_bytes(bytes),
                    format_exact_bytes(bytes), format_bytes(reserved_bytes_))};
  }
  const Range block{start, bytes};
  heap_->claim(block, bare_);
  if (Status done = commit_bare(request); !done) {
    heap_->unclaim(block, bare_);
    return std::move(done).error();
  }
  heap_->commit(block, bare_);
  return start;
}

Status ValuePool::commit_bare(const Request& request) {
  std::int64_t bytes = 0;
  for (const Range& range : bare_) bytes += range.bytes;
  const std::string& asks = owners_.name(request.owner);
  const std::int64_t excess =
      held_bytes_ + bytes -
      bound_bytes(live_bytes_ + request.units * kUnitBytes);
  if (excess > 0) drop(excess);
  Status charged = entry_.resize(held_bytes_ + bytes, asks);
  if (!charged) {
    drop_all();
    charged = entry_.resize(held_bytes_ + bytes, asks);
  }
  PLIMSOLL_RETURN_IF_ERROR(std::move(charged));
  bool committed = commit_each();
  if (!committed) {
    drop_all();
    PLIMSOLL_RETURN_IF_ERROR(entry_.resize(held_bytes_ + bytes, asks));
    committed = commit_each();
  }
  if (!committed) {
    PLIMSOLL_RETURN_IF_ERROR(entry_.resize(held_bytes_, asks));
    return Error{
        ErrorCode::over_budget,
        fmt::format("the system refused {} ({}) of memory to \"{}\"",
                    format_bytes(bytes), format_exact_bytes(bytes), asks)};
  }
  held_bytes_ += bytes;
  return {};
}

bool ValuePool::commit_each() noexcept {
  MemorySource& source = *source_.load();
  for (std::size_t i = 0; i < bare_.size(); ++i) {
    if (source.commit(base_ + bare_[i].start, bare_[i].bytes)) continue;
    while (i-- > 0) source.decommit(base_ + bare_[i].start, bare_[i].bytes);
    return false;
  }
  return true;
}

bool ValuePool::settle() noexcept {
  bool any = !recent_.empty();
  recent_.take_all([this](std::int64_t start, std::int64_t units) {
    heap_->give({start, units * kUnitBytes});
  });
  for (std::int64_t slab = small_.take_empty_slab(); slab >= 0;
       slab = small_.take_empty_slab()) {
    heap_->give({slab, SmallBlocks::kSlabBytes});
    any = true;
  }
  return any;
}

void ValuePool::drop(std::int64_t bytes) noexcept {
  MemorySource& source = *source_.load();
  std::int64_t left = std::max(bytes, kLeastDropBytes);
  while (left > 0) {
    const Range range = heap_->drop(left);
    if (range.bytes == 0) break;
    source.decommit(base_ + range.start, range.bytes);
    held_bytes_ -= range.bytes;
    left -= range.bytes;
  }
  // Shrinking, which no limit refuses.
  static_cast<void>(entry_.resize(held_bytes_, owners_.name(0)));
}

void ValuePool::drop_all() noexcept {
  settle();
  drop(kAll);
}

std::int64_t ValuePool::bound_bytes(std::int64_t live_bytes) const {
  const std::int64_t peak = std::max(peak_live_bytes_, live_bytes);
  return std::max(peak + peak / 10, live_bytes + kFloorBytes);
}

std::int32_t ValuePool::owner(const std::string& name, Purpose purpose) {
  const std::lock_guard lock(mutex_);
  return owners_.number(name, purpose);
}

void ValuePool::hand_over(Block& block, std::int32_t owner) noexcept {
  const std::lock_guard lock(mutex_);
  if (closed() || block.data == nullptr || !owners_.knows(owner)) return;
  const std::int64_t bytes = units_of(block.bytes) * kUnitBytes;
  owners_.add(block.owner, -bytes);
  owners_.add(owner, bytes);
  block.owner = owner;
}

void ValuePool::trim() noexcept {
  const std::lock_guard lock(mutex_);
  if (!closed() && heap_) drop_all();
}

void ValuePool::close() noexcept {
  const std::lock_guard lock(mutex_);
  if (closed()) return;
  MemorySource& source = *source_.load();
  if (heap_) {
    heap_->for_each_committed([&](Range range) {
      source.decommit(base_ + range.start, range.bytes);
    });
    source.unreserve(base_, reserved_bytes_);
  }
  heap_.reset();
  small_ = SmallBlocks();
  recent_ = RecentBlocks();
  live_bytes_ = 0;
  held_bytes_ = 0;
  owners_.clear();
  entry_.release();
  source_ = nullptr;
}

std::int64_t ValuePool::live_bytes() const {
  const std::lock_guard lock(mutex_);
  return live_bytes_;
}

std::int64_t ValuePool::peak_live_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_live_bytes_;
}

std::int64_t ValuePool::held_bytes() const {
  const std::lock_guard lock(mutex_);
  return held_bytes_;
}

}  // namespace plimsoll::runtime
