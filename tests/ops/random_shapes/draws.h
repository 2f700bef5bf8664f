// Sizes and choices from a seed, the same on every machine.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "base/shape.h"
#include "ops/op_record.h"

namespace plimsoll::ops::testing {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed), random_(seed) {}

  // Of a record, whose values follow from its name.
  std::string name(int number) const {
    return fmt::format("random_{}_{}", seed_, number);
  }

  std::int64_t between(std::int64_t least, std::int64_t most) {
    const auto choices = static_cast<std::uint64_t>(most - least + 1);
    return least + static_cast<std::int64_t>(random_() % choices);
  }
  bool one_in(std::int64_t times) { return between(1, times) == 1; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[random_() % values.size()];
  }
  template <class T>
  const T& one_of(const std::vector<T>& values) {
    return values[random_() % values.size()];
  }

  // 1 to `most`: tiny, around whole vectors, or any.
  std::int64_t extent(std::int64_t most) {
    std::int64_t drawn = between(1, most);
    switch (between(0, 3)) {
      case 0:
        drawn = between(1, 5);
        break;
      case 1:
        drawn = one_of({8, 16, 32, 64}) * between(1, 8) + between(-1, 1);
        break;
      case 2:
        drawn = between(1, 40);
        break;
      default:
        break;
    }
    return std::min(drawn, most);
  }

  // How many at the most: now and then enough for several threads.
  std::int64_t some_or(std::int64_t some, std::int64_t many) {
    return one_in(16) ? many : some;
  }

  // So many axes, together of `elements` at the most; now and then of none.
  std::vector<std::int64_t> extents(int rank, std::int64_t elements) {
    std::vector<std::int64_t> drawn(static_cast<std::size_t>(rank), 1);
    // In any order, or the last ones would never be long.
    std::vector<std::size_t> order(drawn.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random_);
    for (const std::size_t axis : order) {
      drawn[axis] = extent(elements);
      elements /= drawn[axis];
    }
    if (rank > 0 && one_in(100)) drawn[order[0]] = 0;
    return drawn;
  }
  Shape shape(int rank, std::int64_t elements) {
    const auto drawn = extents(rank, elements);
    return Shape(std::vector<Dim>(drawn.begin(), drawn.end()));
  }

  // NaN among others, ties, and infinities where f32 or f16 has no more.
  Range some_missing() {
    return one_of<Range>({{-1, 1, false, 0.02},
                          {-2, 2, true, 0.3},
                          {-2e5, 2e5, false, 0.1},
                          {-1e39, 1e39, false, 0.1}});
  }

  std::mt19937_64& engine() { return random_; }

 private:
  std::uint64_t seed_;
  std::mt19937_64 random_;
};

inline Shape to_shape(const std::vector<std::int64_t>& extents) {
  return Shape(std::vector<Dim>(extents.begin(), extents.end()));
}

}  // namespace plimsoll::ops::testing
