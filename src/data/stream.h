// Elements one after another: pulled by one thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "data/element.h"
#include "data/placer.h"
#include "data/state.h"

namespace plimsoll::data {

// The number of elements of a stream that nobody has counted.
inline constexpr std::int64_t kUnknownCount = -1;

// Whether elements that cannot be read or mapped are left out.
struct ErrorPolicy {
  bool skip = false;
  std::atomic<std::int64_t> skipped{0};
};

class Stream {
 public:
  virtual ~Stream() = default;

  virtual std::string name() const = 0;  // "tfrecord", "shuffle"
  virtual const ElementSpec& spec() const = 0;
  // Elements in an epoch, or kUnknownCount.
  virtual std::int64_t count() const { return kUnknownCount; }

  // Takes all its memory, and its inputs' before; called twice with the same
  // takes: once to count, once before the first start().
  virtual void place(Placer& placer) = 0;

  // Goes to the beginning of an epoch.
  virtual Status start(std::int64_t epoch) = 0;
  // The next element, whose values live until the next call of anything here;
  // false at the epoch's end. After an error the next call goes on behind the
  // bad element where the format allows it, and gives the same error again
  // where it does not. Allocates nothing unless it fails.
  virtual Result<bool> next(Element& out) = 0;
  // The same for elements that are only stacked: up to `most` of fixed shapes,
  // field i of each one after another from `rows[i]` on. How many, less than
  // `most` at the epoch's end alone; an error takes those before it along.
  // kUnknownCount, always: there is no faster way than next().
  virtual Result<std::int64_t> next_rows(std::int64_t /*most*/,
                                         std::span<std::byte* const> /*rows*/) {
    return kUnknownCount;
  }
  // The index of the element that next_rows() gave last but `before`: for
  // errors, so it may take its time.
  virtual Result<std::int64_t> stacked_index(std::int64_t /*before*/) {
    return kUnknownCount;
  }

  // Pushes what restore() needs to go on behind the element that next() gave
  // last; it never holds elements.
  virtual void save(State& state) const = 0;
  virtual Status restore(std::int64_t epoch, StateReader& state) = 0;

  // "train-3.tfrecord, offset 1234", or empty: of an element it gave.
  virtual std::string whereabouts(const Element& element) const = 0;
};

}  // namespace plimsoll::data
