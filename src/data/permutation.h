// A shuffle without a table: a keyed Feistel cipher maps each position of an
// epoch to an example; values past the end are enciphered again.
#pragma once

#include <array>
#include <cstdint>

namespace plimsoll::data {

class Permutation {
 public:
  // Of [0, size), 1 <= size <= 2^62; another one for every seed and epoch.
  Permutation(std::int64_t size, std::uint64_t seed, std::uint64_t epoch);

  std::int64_t size() const { return size_; }

  std::int64_t operator()(std::int64_t position) const {
    auto value = static_cast<std::uint64_t>(position);
    do {
      value = encipher(value);
    } while (value >= static_cast<std::uint64_t>(size_));
    return static_cast<std::int64_t>(value);
  }

 private:
  // With six, sets of about a hundred favour some neighbours.
  static constexpr std::size_t kRounds = 8;

  static std::uint64_t mix(std::uint64_t half, std::uint64_t key) {
    std::uint64_t z = (half + key) * 0x9fb21c651e98df25;
    z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93;
    return z >> 32;
  }

  std::uint64_t encipher(std::uint64_t value) const {
    std::uint64_t high = value >> low_bits_;
    std::uint64_t low = value & low_mask_;
    for (std::size_t round = 0; round < kRounds; round += 2) {
      high = (high ^ mix(low, keys_[round])) & high_mask_;
      low = (low ^ mix(high, keys_[round + 1])) & low_mask_;
    }
    return (high << low_bits_) | low;
  }

  std::int64_t size_;
  int low_bits_;
  std::uint64_t low_mask_;
  std::uint64_t high_mask_;
  std::array<std::uint64_t, kRounds> keys_;
};

}  // namespace plimsoll::data
