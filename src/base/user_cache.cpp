#include "base/user_cache.h"

#include <cstdlib>

namespace plimsoll {

std::filesystem::path user_cache_folder() {
  namespace fs = std::filesystem;
  if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder && *folder) {
    return fs::path(folder) / "plimsoll";
  }
  if (const char* home = std::getenv("HOME"); home && *home) {
    return fs::path(home) / ".cache" / "plimsoll";
  }
  return {};
}

}  // namespace plimsoll
