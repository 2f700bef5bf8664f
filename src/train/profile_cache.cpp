#include "train/profile_cache.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/hash.h"
#include "base/user_cache.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;

void write_cache(const fs::path& path, const std::string& text) {
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  const fs::path beside = path.string() + fmt::format(".{}", getpid());
  if (!(std::ofstream(beside) << text).flush()) {
    fs::remove(beside, ignored);
    return;
  }
  std::error_code refused;
  fs::create_hard_link(beside, path, refused);
  // Where files have one name only, the last one wins instead.
  if (refused && refused != std::errc::file_exists) {
    fs::rename(beside, path, ignored);
  }
  fs::remove(beside, ignored);
}

// Null where there is none, or none that can be read.
std::optional<DeviceProfile> read_cache(const fs::path& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::stringstream text;
  text << file.rdbuf();
  auto cached = device_profile_from_json(text.str());
  if (!cached) {
    std::error_code ignored;
    fs::remove(path, ignored);
    return std::nullopt;
  }
  return *std::move(cached);
}

}  // namespace

std::string program_identity(const std::string& program) {
  struct stat facts {};
  if (stat(program.c_str(), &facts) != 0) return program;
  return fmt::format("{}:{}:{}.{}", facts.st_ino, facts.st_size,
                     facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
}

Result<DeviceProfile> cached_profile(
    const std::string& kind, const std::string& key,
    const std::function<Result<DeviceProfile>()>& measure) {
  const fs::path folder = user_cache_folder();
  const fs::path path =
      folder / fmt::format("{}-{}.json", kind, hash_text(stable_hash(key)));
  if (!folder.empty()) {
    if (auto cached = read_cache(path)) return *std::move(cached);
  }
  PLIMSOLL_ASSIGN(DeviceProfile profile, measure());
  if (folder.empty() || !profile.note.empty()) return profile;
  write_cache(path, to_json(profile));
  return read_cache(path).value_or(profile);
}

}  // namespace plimsoll::train
