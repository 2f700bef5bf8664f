#include "data/permutation.h"

#include <algorithm>
#include <bit>

#include "base/philox.h"

namespace plimsoll::data {

Permutation::Permutation(std::int64_t size, std::uint64_t seed,
                         std::uint64_t epoch)
    : size_(size) {
  // The smallest domain of whole bits: less than two tries on average. Under
  // 64 values the rounds could not mix, and some orders would be favoured.
  const auto last = static_cast<std::uint64_t>(size - 1);
  const int bits = std::max(6, static_cast<int>(std::bit_width(last)));
  low_bits_ = (bits + 1) / 2;
  low_mask_ = (std::uint64_t{1} << low_bits_) - 1;
  high_mask_ = (std::uint64_t{1} << (bits - low_bits_)) - 1;
  constexpr std::uint64_t kStream = 0x73687566666c6500;  // "shuffle"
  for (std::size_t i = 0; i < kRounds; i += 2) {
    const PhiloxBlock block = philox(seed, epoch, kStream + i);
    keys_[i] = static_cast<std::uint64_t>(block[0]) << 32 | block[1];
    keys_[i + 1] = static_cast<std::uint64_t>(block[2]) << 32 | block[3];
  }
}

}  // namespace plimsoll::data
