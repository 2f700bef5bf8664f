#include "base/hash.h"

#include <fmt/core.h>

namespace plimsoll {

std::string hash_text(std::uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

}  // namespace plimsoll
