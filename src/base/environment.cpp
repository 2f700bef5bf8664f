#include "base/environment.h"

#include <cstdlib>

namespace plimsoll {

std::optional<std::string> environment_text(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return text;
}

}  // namespace plimsoll
