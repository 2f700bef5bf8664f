// Turns a source into the batches of an epoch, gathered into a ring of slots
// in memory that the caller planned. Nothing is allocated after create().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/dtype.h"
#include "base/result.h"
#include "data/source.h"

namespace plimsoll::data {

struct FeederOptions {
  std::int64_t batch = 32;
  DType features_as = DType::f32;
  DType labels_as = DType::f32;
  bool shuffle = false;
  std::uint64_t seed = 1;  // of the shuffle
  // Labels of i32 must lie below this; 0: they may be anything.
  std::int64_t classes = 0;
  // Batches the ring holds, the consumer's own included.
  int slots = 1;
  // A reader thread fills free slots ahead; otherwise next() fills one.
  bool prefetch = false;
};

// Where everything lies in the memory handed to create(): plain values, so
// that a plan can count the bytes before the feeder exists.
struct FeederLayout {
  int slots = 0;
  bool borrow_features = false;  // handed out from the source, without a copy
  bool borrow_labels = false;
  std::int64_t features_offset = 0;  // within a slot, bytes
  std::int64_t labels_offset = 0;
  std::int64_t slot_bytes = 0;
  std::int64_t indices_offset = 0;  // after the slots
  std::int64_t scratch_offset = 0;
  std::int64_t scratch_bytes = 0;
  std::int64_t total_bytes = 0;

  // Nothing is copied: no slots, no reader thread.
  bool borrows_all() const { return borrow_features && borrow_labels; }
  friend bool operator==(const FeederLayout&, const FeederLayout&) = default;
};

FeederLayout feeder_layout(const Source& source, const FeederOptions& options);

struct Batch {
  int slot = -1;  // to be released; -1: borrowed, nothing to release
  const void* features = nullptr;
  const void* labels = nullptr;
  std::int64_t examples = 0;  // the last may be partial; 0: the epoch is over
  std::int64_t first = 0;     // position in the epoch's order
};

class BatchFeeder {
 public:
  // `source` and `memory` (of layout.total_bytes, aligned to 64) must outlive
  // the feeder. A reader thread starts here, so that it counts as runtime.
  static Result<std::unique_ptr<BatchFeeder>> create(
      const Source& source, const FeederOptions& options,
      const FeederLayout& layout, std::span<std::byte> memory);
  ~BatchFeeder();
  BatchFeeder(const BatchFeeder&) = delete;
  BatchFeeder& operator=(const BatchFeeder&) = delete;

  // Abandons the running epoch, if any, with all its batches. `first` is a
  // position in the epoch's order: resuming needs no more than these two.
  Status start_epoch(std::int64_t epoch, std::int64_t first = 0);

  // The next batch, waiting for it if need be. A source's error comes once,
  // in the place of the batch it spoiled, and ends the epoch.
  Result<Batch> next();
  void release(int slot) noexcept;

  // Ends the reader thread; start_epoch() fails afterwards.
  void stop() noexcept;

 private:
  struct Impl;
  explicit BatchFeeder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::data
