// Decodes with the settings of a fuzzer's input and checks the promises:
// what the header says holds, and nothing is written behind the image or the
// scratch.
#pragma once

#include <algorithm>
#include <vector>

#include "fuzz/fuzz_input.h"
#include "io/image.h"

namespace plimsoll::fuzz {

inline void decode(std::span<const std::byte> bytes, unsigned settings) {
  constexpr std::int64_t kMostBytes = 1 << 19;
  constexpr std::size_t kGuard = 64;
  constexpr std::byte kMark{0xa7};
  const auto info = io::image_info(bytes);
  if (!info) return;
  constexpr int kChannels[] = {0, 1, 3, 4};
  const io::DecodeOptions options{
      kChannels[settings & 3],
      {static_cast<int>(settings >> 2 & 7) * 4, (settings & 32) != 0 ? 9 : 0}};
  const io::DecodedImage expected = io::decoded_as(*info, options);
  require(expected.size.width >= 1 && expected.size.height >= 1 &&
              expected.channels >= 1 && info->scratch_bytes > 0,
          "the header's sizes make sense");
  if (expected.bytes() > kMostBytes || info->scratch_bytes > 8 * kMostBytes) {
    std::vector<std::byte> few(16);
    require(!io::decode_image(bytes, options, few, few).ok(),
            "too little memory is refused");
    return;
  }
  static std::vector<std::byte> out(kMostBytes + kGuard);
  static std::vector<std::byte> scratch(8 * kMostBytes + kGuard);
  const auto image =
      std::span(out).first(static_cast<std::size_t>(expected.bytes()));
  const auto work =
      std::span(scratch).first(static_cast<std::size_t>(info->scratch_bytes));
  const auto guard_of = [](std::vector<std::byte>& whole,
                           std::span<std::byte> used) {
    return std::span(whole).subspan(used.size(), kGuard);
  };
  for (auto guard : {guard_of(out, image), guard_of(scratch, work)}) {
    std::fill(guard.begin(), guard.end(), kMark);
  }
  const auto decoded = io::decode_image(bytes, options, image, work);
  for (auto guard : {guard_of(out, image), guard_of(scratch, work)}) {
    require(std::count(guard.begin(), guard.end(), kMark) == kGuard,
            "nothing is written behind what was given");
  }
  if (!decoded) {
    require(decoded.error().message.find("memory") == std::string::npos,
            "the scratch the header calls for is enough");
    return;
  }
  require(
      decoded->size == expected.size && decoded->channels == expected.channels,
      "the image is as the header said");
}

}  // namespace plimsoll::fuzz
