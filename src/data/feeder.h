// Turns an input into the batches of an epoch, gathered into a ring of slots
// in memory that the caller planned. Nothing is allocated after create().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "data/index_limits.h"
#include "data/input.h"

namespace plimsoll::data {

// With so many slots more than readers, next() fills batches of a set as well
// while the one it is to give is not ready.
inline constexpr int kSlotsToHelp = 4;

struct FeederOptions {
  std::int64_t batch = 32;
  bool remainder = true;  // the last, partial batch is given too
  std::vector<DType> as;  // by field; empty: as they are
  // Of fields that are given as whole numbers; others are not looked at.
  std::vector<IndexLimit> limits;
  // Batches the ring holds, the consumer's own included.
  int slots = 1;
  // Threads that fill free slots ahead; 0: next() fills one. A stream is
  // pulled by one.
  int readers = 0;
  // False: every field is copied into a slot, even one that could be lent.
  bool borrow = true;
  std::int64_t alignment_bytes = 64;  // of each field in a slot; 64 or more
};

// Where everything lies in the memory handed to create(): plain values, so
// that a plan can count the bytes before the feeder exists.
struct FeederLayout {
  int slots = 0;
  int readers = 0;
  std::vector<bool> borrowed;  // by field: handed out without a copy
  std::vector<DType> made;     // by field: what a set's gather() writes
  std::vector<std::int64_t> field_offsets;  // within a slot, bytes
  std::int64_t slot_bytes = 0;
  std::int64_t readers_offset = 0;  // after the slots
  std::int64_t numbers_bytes = 0;   // of each reader, first
  std::int64_t cast_bytes = 0;      // then rows to be cast
  std::int64_t cast_rows = 0;
  std::int64_t scratch_bytes = 0;  // then the set's own
  std::int64_t stream_offset = 0;
  std::int64_t stream_bytes = 0;
  std::int64_t total_bytes = 0;

  // Nothing is copied: no slots, no threads.
  bool borrows_all() const { return slots == 0; }
  std::int64_t reader_bytes() const {
    return numbers_bytes + cast_bytes + scratch_bytes;
  }
  friend bool operator==(const FeederLayout&, const FeederLayout&) = default;
};

Result<FeederLayout> feeder_layout(const Input& input,
                                   const FeederOptions& options);

// From where the same batches follow.
struct Position {
  std::int64_t epoch = 0;
  std::int64_t first = 0;  // elements of the epoch that are gone
  State stream;            // a stream's own; empty: it counts `first` again
};

struct Batch {
  int slot = -1;  // to be released; -1: borrowed, nothing to release
  const Element* element = nullptr;  // its fields, stacked
  std::int64_t examples = 0;  // the last may be partial; 0: the epoch is over
  std::int64_t first = 0;     // position in the epoch's order

  const void* field(int number) const {
    return element->values[static_cast<std::size_t>(number)].data;
  }
};

class BatchFeeder {
 public:
  // `input` and `memory` (of layout.total_bytes, aligned to 64) must outlive
  // the feeder. Readers start here, so that they count as runtime.
  static Result<std::unique_ptr<BatchFeeder>> create(
      const Input& input, const FeederOptions& options,
      const FeederLayout& layout, std::span<std::byte> memory);
  ~BatchFeeder();
  BatchFeeder(const BatchFeeder&) = delete;
  BatchFeeder& operator=(const BatchFeeder&) = delete;

  // Abandons the running epoch, if any, with all its batches.
  Status start(const Position& position);

  // The next batch, waiting for it if need be. An input's error comes once,
  // in the place of the batch it spoiled, and ends the epoch.
  Result<Batch> next();
  void release(int slot) noexcept;
  // Behind the last batch that next() gave.
  const Position& position() const;

  // Ends the readers and the input's workers; start() fails afterwards.
  void stop() noexcept;

 private:
  struct Impl;
  explicit BatchFeeder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::data
