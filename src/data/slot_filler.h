// Fills one slot with one batch, from a set or from a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "data/feeder.h"
#include "data/index_limits.h"

namespace plimsoll::data {

class SlotFiller {
 public:
  SlotFiller(const Input& input, const FeederOptions& options,
             const FeederLayout& layout, std::byte* memory)
      : input_(input),
        options_(options),
        layout_(layout),
        limits_(input.spec(), options.limits),
        memory_(memory) {}

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

  // Of a set's elements that lie in a slot, or are lent.
  Status check_limits(std::int64_t epoch, std::int64_t first,
                      std::int64_t count, const Element& batch) const;

 private:
  // Among rows of a field that is given as whole numbers, lying as `dtype`.
  std::optional<IndexLimits::Wrong> find_wrong(std::size_t field, DType dtype,
                                               const void* values,
                                               std::int64_t rows) const;
  // Among what was not looked at before a cast.
  std::optional<IndexLimits::Wrong> find_wrong(const Element& batch,
                                               std::int64_t rows) const;
  Error error_of(const IndexLimits::Wrong& wrong, std::int64_t example) const;
  DType cast_of(std::size_t field) const;
  Status gather(std::span<const std::int64_t> numbers, std::int64_t done,
                Element& out, std::byte* cast, const ReadContext& how) const;
  // kUnknownCount: element by element only.
  Result<std::int64_t> stack_from_stream(const Element& out) const;

  const Input& input_;
  const FeederOptions& options_;
  const FeederLayout& layout_;
  const IndexLimits limits_;
  std::byte* const memory_;
};

}  // namespace plimsoll::data
