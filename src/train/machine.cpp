#include "train/machine.h"

#include <fmt/core.h>

#include "base/hash.h"

namespace plimsoll::train {

std::string Machine::fingerprint() const {
  std::string text =
      fmt::format("{} {} {} threads={}", profile_.kind, profile_.name,
                  profile_.instruction_set, profile_.threads);
  for (const auto& [library, version] : profile_.library_versions) {
    text += fmt::format(" {}={}", library, version);
  }
  return fmt::format("{} {}", hash_text(stable_hash(text)), text);
}

}  // namespace plimsoll::train
