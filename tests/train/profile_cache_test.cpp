#include "train/profile_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace plimsoll::train {
namespace {

class ProfileCache : public ::testing::Test {
 protected:
  ProfileCache()
      : folder_(std::filesystem::temp_directory_path() /
                ("profile-cache-" + std::to_string(getpid()))) {
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  ~ProfileCache() override { std::filesystem::remove_all(folder_); }

  // The bytes of a profile that is measured as `bytes`, unless it is kept.
  std::int64_t floor(const std::string& key, std::int64_t bytes,
                     const std::string& note = "") {
    const auto made = cached_profile("test", key, [&] {
      DeviceProfile profile;
      profile.runtime_floor_bytes = bytes;
      profile.note = note;
      return Result<DeviceProfile>(profile);
    });
    return made ? made->runtime_floor_bytes : -1;
  }

  std::filesystem::path folder_;
};

TEST_F(ProfileCache, TheFirstIsKept) {
  EXPECT_EQ(floor("a", 1), 1);
  EXPECT_EQ(floor("a", 2), 1);
  EXPECT_EQ(floor("b", 2), 2);
  int files = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder_)) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  EXPECT_EQ(files, 2) << "nothing is left beside";
}

TEST_F(ProfileCache, DoubtfulFiguresAreNotKept) {
  EXPECT_EQ(floor("a", 1, "others use the GPU"), 1);
  EXPECT_EQ(floor("a", 2), 2);
  EXPECT_EQ(floor("a", 3), 2);
}

TEST_F(ProfileCache, ForgottenOnesAreMeasuredAgain) {
  EXPECT_EQ(floor("a", 1), 1);
  for (const char* other : {"tests", "test-work"}) {
    keep_text(other, "a", "stays");
  }
  forget_profiles("test");
  EXPECT_EQ(floor("a", 2), 2);
  const auto any = [](const std::string&) { return true; };
  for (const char* other : {"tests", "test-work"}) {
    EXPECT_TRUE(cached_text(other, "a", any)) << other;
  }
}

}  // namespace
}  // namespace plimsoll::train
