// A map's scratch, cut into pieces.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "data/maps/resize_tables.h"

namespace plimsoll::data {

// Hands out pieces of scratch, or only adds up their bytes.
class ScratchPieces {
 public:
  explicit ScratchPieces(std::byte* memory) : memory_(memory) {}
  template <class T>
  T* take(std::int64_t count) {
    std::byte* piece = memory_ == nullptr ? nullptr : memory_ + bytes_;
    bytes_ +=
        round_up(count * static_cast<std::int64_t>(sizeof(T)), kAlignment);
    return reinterpret_cast<T*>(piece);
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  static constexpr std::int64_t kAlignment = 64;
  std::byte* memory_;
  std::int64_t bytes_ = 0;
};

inline BetweenTable take_table(ScratchPieces& pieces, std::int64_t count) {
  return {pieces.take<std::int32_t>(count), pieces.take<std::int32_t>(count),
          pieces.take<float>(count), count};
}

}  // namespace plimsoll::data
