#include "memory/purpose.h"

#include <array>
#include <cstddef>

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, kSpaces> kSpaceNames = {
    "host", "pinned", "device", "disk"};
constexpr std::array<std::string_view, kPurposes> kPurposeNames = {
    "parameters", "gradients", "optimizer", "activations", "scratch",
    "pipeline",   "staging",   "cache",     "runtime",     "user"};

}  // namespace

std::string_view name_of(Space space) {
  return kSpaceNames[static_cast<std::size_t>(space)];
}

std::string_view name_of(Purpose purpose) {
  return kPurposeNames[static_cast<std::size_t>(purpose)];
}

}  // namespace plimsoll
