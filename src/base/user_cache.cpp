#include "base/user_cache.h"

#include "base/environment.h"

namespace plimsoll {

std::filesystem::path user_cache_folder() {
  namespace fs = std::filesystem;
  if (const auto folder = environment_text("XDG_CACHE_HOME")) {
    return fs::path(*folder) / "plimsoll";
  }
  if (const auto home = environment_text("HOME")) {
    return fs::path(*home) / ".cache" / "plimsoll";
  }
  return {};
}

}  // namespace plimsoll
