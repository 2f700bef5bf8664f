// Kinds of memory, and what bytes are held for.
#pragma once

#include <cstdint>
#include <string_view>

namespace plimsoll {

enum class Space : std::uint8_t { host, pinned, device, disk };
inline constexpr int kSpaces = 4;

// The names are part of every report: changing one breaks its readers.
enum class Purpose : std::uint8_t {
  parameters,  // with batch statistics and counters
  gradients,
  optimizer,
  activations,
  scratch,
  pipeline,
  staging,
  cache,
  runtime,
  user,
};
inline constexpr int kPurposes = 10;

std::string_view name_of(Space space);
std::string_view name_of(Purpose purpose);

}  // namespace plimsoll
