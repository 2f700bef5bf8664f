#include "train/profile_cache.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
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

fs::path path_of(const std::string& kind, const std::string& key) {
  const fs::path folder = user_cache_folder();
  if (folder.empty()) return folder;
  return folder / fmt::format("{}-{}.json", kind, hash_text(stable_hash(key)));
}

}  // namespace

std::string program_identity(const std::string& program) {
  struct stat facts {};
  if (stat(program.c_str(), &facts) != 0) return program;
  return fmt::format("{}:{}:{}.{}", facts.st_ino, facts.st_size,
                     facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
}

std::optional<std::string> cached_text(
    const std::string& kind, const std::string& key,
    const std::function<bool(const std::string&)>& is_whole) {
  const fs::path path = path_of(kind, key);
  std::ifstream file(path);
  if (path.empty() || !file) return std::nullopt;
  std::stringstream text;
  text << file.rdbuf();
  if (is_whole(text.str())) return text.str();
  std::error_code ignored;
  fs::remove(path, ignored);
  return std::nullopt;
}

void keep_text(const std::string& kind, const std::string& key,
               const std::string& text) {
  const fs::path path = path_of(kind, key);
  if (!path.empty()) write_cache(path, text);
}

void forget_profiles(const std::string& kind) {
  const fs::path folder = user_cache_folder();
  if (folder.empty()) return;
  // "cpu-0123456789abcdef.json", not "cpu-work-...".
  const std::size_t length = path_of(kind, "").filename().string().size();
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (!name.starts_with(kind + "-") || name.size() != length) continue;
    std::error_code kept;
    fs::remove(entry->path(), kept);
  }
}

Result<DeviceProfile> cached_profile(
    const std::string& kind, const std::string& key,
    const std::function<Result<DeviceProfile>()>& measure) {
  const auto kept = [&] {
    return cached_text(kind, key, [](const std::string& text) {
      return device_profile_from_json(text).ok();
    });
  };
  if (const auto text = kept()) return device_profile_from_json(*text);
  PLIMSOLL_ASSIGN(DeviceProfile profile, measure());
  if (!profile.note.empty()) return profile;
  keep_text(kind, key, to_json(profile));
  const auto first = kept();
  return first ? device_profile_from_json(*first) : profile;
}

}  // namespace plimsoll::train
