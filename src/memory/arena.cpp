#include "memory/arena.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace plimsoll {
namespace {

Result<std::int64_t> sum_of(std::span<const Holding> holdings) {
  std::int64_t sum = 0;
  for (const Holding& holding : holdings) {
    if (holding.bytes < 0 || __builtin_add_overflow(sum, holding.bytes, &sum)) {
      return Error{ErrorCode::bad_input,
                   fmt::format("arena holding \"{}\" of {} bytes is out of "
                               "range",
                               holding.owner, holding.bytes)};
    }
  }
  return sum;
}

}  // namespace

Arena::Arena(Arena&& other) noexcept
    : source_(std::exchange(other.source_, nullptr)),
      start_(std::exchange(other.start_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      entries_(std::move(other.entries_)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  Arena moved(std::move(other));
  std::swap(source_, moved.source_);
  std::swap(start_, moved.start_);
  std::swap(bytes_, moved.bytes_);
  entries_.swap(moved.entries_);
  return *this;
}

Arena::~Arena() {
  // Unmapped before the entries go: the ledger never shows less than is held.
  if (start_ != nullptr) source_->unmap(start_, bytes_);
}

Result<Arena> Arena::commit(MemorySource& source, Ledger& ledger,
                            std::span<const Holding> holdings) {
  PLIMSOLL_ASSIGN(const std::int64_t bytes, sum_of(holdings));
  const std::int64_t granule = source.granularity_bytes();
  if (bytes % granule != 0) {
    return Error{ErrorCode::bad_input,
                 fmt::format("an arena of {} bytes is no multiple of the "
                             "granularity of {} bytes",
                             bytes, granule)};
  }
  Arena arena;
  arena.source_ = &source;
  arena.entries_.reserve(holdings.size());
  for (const Holding& holding : holdings) {
    PLIMSOLL_ASSIGN(LedgerEntry entry, ledger.charge(holding));
    arena.entries_.push_back(std::move(entry));
  }
  if (bytes == 0) return arena;
  void* start = source.map(bytes);
  if (start == nullptr) {
    const Space space = holdings[0].space;
    return Error{
        ErrorCode::over_budget,
        fmt::format("the system refused to map {} ({}) of {} memory",
                    format_bytes(bytes), format_exact_bytes(bytes),
                    name_of(space == Space::pinned ? Space::host : space))};
  }
  arena.start_ = static_cast<std::byte*>(start);
  arena.bytes_ = bytes;
  return arena;
}

Status Arena::shrink_to(std::int64_t bytes, Ledger& ledger, Holding holding) {
  if (start_ == nullptr) return {};
  const std::int64_t kept =
      std::min(source_->kept_bytes(
                   start_, round_up(bytes, source_->granularity_bytes())),
               bytes_);
  if (kept < bytes_) source_->unmap(start_ + kept, bytes_ - kept);
  bytes_ = kept;
  if (kept == 0) start_ = nullptr;
  entries_.clear();
  holding.bytes = kept;
  PLIMSOLL_ASSIGN(LedgerEntry entry, ledger.charge(std::move(holding)));
  entries_.push_back(std::move(entry));
  return {};
}

}  // namespace plimsoll
