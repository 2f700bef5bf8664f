// Rows of random numbers, made where they are needed. Element e of example i
// is a function of (key, i, e) alone: Philox makes two words for the row, and
// two rounds of multiplying and shifting mix an element's number with them.
// That is far cheaper than a counter of Philox's for each four elements, and
// all that data which only stand for others need.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/isa.h"
#include "base/philox.h"

namespace plimsoll::data {

class UniformRow {
 public:
  // Of up to 2^32 elements; further ones are of the next `part`.
  UniformRow(std::uint64_t key, std::uint64_t example, std::uint64_t part = 0) {
    const PhiloxBlock words = philox(key, example, part);
    start_ = words[0];
    salt_ = words[1];
  }

  // 32 random bits for each element.
  std::uint32_t bits(std::uint32_t element) const {
    std::uint32_t x = first(element);
    x = ((x ^ (x >> 16)) * 0x21F0AAADu) ^ salt_;
    x = (x ^ (x >> 15)) * 0xD35A2D97u;
    return x ^ (x >> 15);
  }
  // What loops over elements from this one on begin with.
  std::uint32_t first(std::uint32_t element) const {
    return start_ + element * 0x9E3779B9u;
  }
  std::uint32_t salt() const { return salt_; }

 private:
  std::uint32_t start_ = 0;
  std::uint32_t salt_ = 0;
};

// Writes elements [first, first + count) of the example, uniform in [0, 1), in
// f32 or bf16.
void fill_uniform(std::uint64_t key, std::uint64_t example, std::int64_t first,
                  std::int64_t count, DType dtype, void* out) noexcept;

// Write `count` elements of a row from UniformRow::first() on.
using UniformLoop = void (*)(std::uint32_t first, std::uint32_t salt,
                             std::int64_t count, void* out) noexcept;
struct UniformLoops {
  UniformLoop f32;
  UniformLoop bf16;
};
// Of one level, which best_isa() must reach.
UniformLoops uniform_loops(Isa level) noexcept;

}  // namespace plimsoll::data
