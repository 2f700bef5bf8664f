// A set whose elements are read by number, in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "data/element.h"

namespace plimsoll::data {

struct ReadContext {
  std::span<std::byte> scratch;  // of scratch_bytes(), aligned to 64
  std::int64_t epoch = 0;        // another order, and other chance, in each
  // What gather() writes, by field, each of which makes() allows; empty: what
  // the spec says.
  std::span<const DType> as = {};

  // Of a field of fixed shape that gather() writes.
  std::int64_t row_bytes(const ElementSpec& spec, std::size_t field) const {
    return as.empty() ? spec[field].most_bytes
                      : spec[field].shape.elements() * size_of(as[field]);
  }
};

class Indexed {
 public:
  virtual ~Indexed() = default;

  virtual std::string name() const = 0;  // "npy", "shuffle"
  virtual const ElementSpec& spec() const = 0;
  virtual std::int64_t size() const = 0;
  // What read() and gather() need; the caller plans it and hands it in.
  virtual std::int64_t scratch_bytes() const { return 0; }

  // One element. A field is written to `buffers[i]` (of the spec's most_bytes,
  // aligned to 64) or lies where the set has it anyway. Here and in gather():
  // calls with different scratch may run at the same time; nothing is
  // allocated unless it fails; errors name file, offset and element. Unless a
  // set says otherwise, a gather of one element of fixed shapes.
  virtual Status read(std::int64_t number, Element& out,
                      std::span<std::byte* const> buffers,
                      const ReadContext& context) const;

  // Many elements of fixed shapes: field i of each, one after another, from
  // `rows[i]` on. A null skips a field that borrow() gives.
  virtual Status gather(std::span<const std::int64_t> numbers,
                        std::span<std::byte* const> rows,
                        const ReadContext& context) const = 0;

  // Whether gather() can write the field in this type.
  virtual bool makes(int field, DType as) const {
    return spec()[static_cast<std::size_t>(field)].dtype == as;
  }

  // What it holds of the heap, where that grows with the set: names of files.
  virtual std::int64_t held_bytes() const { return 0; }

  // Elements that lie together cost less to read together: large files.
  virtual bool prefers_blocks() const { return false; }

  // Where field `i` lies one after another for all elements from `first` on,
  // to be used without a copy; null when it does not.
  virtual const std::byte* borrow(int /*field*/, std::int64_t /*first*/) const {
    return nullptr;
  }

  // Turns numbers of this set into those that the elements themselves carry,
  // which are their source's own.
  virtual void origins(std::span<std::int64_t> /*numbers*/,
                       std::int64_t /*epoch*/) const {}
  // "x.npy, offset 1234", or empty; by the number an element carries.
  virtual std::string whereabouts(std::int64_t number) const = 0;
  virtual std::string describe() const = 0;
};

}  // namespace plimsoll::data
