// Fills one slot with one batch, from a set or from a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "data/feeder.h"

namespace plimsoll::data {

class SlotFiller {
 public:
  SlotFiller(const Input& input, const FeederOptions& options,
             const FeederLayout& layout, std::byte* memory)
      : input_(input), options_(options), layout_(layout), memory_(memory) {}

  // Sets the fields' shapes for `count` examples, and their addresses in the
  // slot or, from position `first` on, in the set.
  void describe(int slot, std::int64_t first, std::int64_t count,
                Element& out) const;

  // Elements [first, first + count) of the epoch's order; `reader` has its
  // own scratch.
  Status fill_from_set(int reader, std::int64_t epoch, std::int64_t first,
                       std::int64_t count, Element& out) const;

  // Up to a batch of elements; the number there were.
  Result<std::int64_t> fill_from_stream(Element& out) const;

  // A class that the model has no output for, or an index that an embedding has
  // no row for, would train to NaN. Of what lies in a slot: elements of a
  // stream are looked at one by one, while they know whose they are.
  Status check_limits(std::int64_t epoch, std::int64_t first,
                      std::int64_t count, const Element& batch) const;

 private:
  // A value of a field that its limit does not allow.
  struct Wrong {
    const IndexLimit* limit = nullptr;
    std::int64_t row = 0;  // of those that were looked at
    std::string value;
  };
  // Of values that lie as `dtype`, before a cast would make whole numbers.
  std::optional<Wrong> find_wrong(std::size_t field, DType dtype,
                                  const void* values, std::int64_t count) const;
  Error error_of(const Wrong& wrong, std::int64_t example) const;
  DType cast_of(std::size_t field) const;
  Status gather(std::span<const std::int64_t> numbers, std::int64_t done,
                Element& out, std::byte* cast, const ReadContext& how) const;
  // kUnknownCount: element by element only.
  Result<std::int64_t> stack_from_stream(const Element& out) const;

  const Input& input_;
  const FeederOptions& options_;
  const FeederLayout& layout_;
  std::byte* const memory_;
};

}  // namespace plimsoll::data
