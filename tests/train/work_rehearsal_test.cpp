#include "train/work_rehearsal.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/units.h"
#include "io/temporary_folder.h"

namespace plimsoll::train {
namespace {

// A rehearsal that takes as many bytes as the last number of the work.
class WorkRehearsal : public ::testing::Test {
 protected:
  WorkRehearsal() {
    setenv("XDG_CACHE_HOME", (folder_.path() + "/cache").c_str(), 1);
    std::ofstream(rehearsal_) << "#!/bin/sh\n"
                                 "[ \"$5$6\" = \"cuda:0--work\" ] || exit 1\n"
                                 "echo $(sed 's/.* //' \"$7\") 4194304\n";
    std::filesystem::permissions(rehearsal_, std::filesystem::perms::owner_all);
  }

  // As a program by itself asks.
  std::int64_t host_bytes(double mib,
                          const std::string& words = "product f32") {
    const auto measure = library_measure_by(rehearsal_, "cuda:0", "a machine");
    const auto cost = measure(fmt::format("3 {} {}\n", words, bytes_of(mib)));
    EXPECT_TRUE(cost) << cost.error().message;
    return cost ? cost->host_bytes : -1;
  }
  static std::int64_t bytes_of(double mib) {
    return static_cast<std::int64_t>(mib * double{kMiB});
  }

  const TemporaryFolder folder_;
  const std::string rehearsal_ = folder_.path() + "/rehearsal";
};

TEST_F(WorkRehearsal, WorkThatIsAlikeTakesTheSame) {
  const std::int64_t first = host_bytes(104);
  EXPECT_GE(first, bytes_of(104));
  EXPECT_LE(first, bytes_of(106));
  EXPECT_EQ(host_bytes(104.6), first);
  EXPECT_EQ(host_bytes(103.1), first);
}

TEST_F(WorkRehearsal, WorkThatTakesMoreIsNeverHeldToTakeLess) {
  host_bytes(104);
  for (const double mib : {109.0, 106.5, 300.0, 107.7, 20.0, 105.9}) {
    EXPECT_GE(host_bytes(mib), bytes_of(mib)) << mib;
    EXPECT_LE(host_bytes(mib), bytes_of(mib + 4)) << mib;
  }
}

TEST_F(WorkRehearsal, OtherKindsOfWorkHaveLevelsOfTheirOwn) {
  const std::int64_t first = host_bytes(104);
  EXPECT_NE(host_bytes(104.6, "product bf16"), first);
  EXPECT_NE(host_bytes(104.7, "attention f32"), first);
}

}  // namespace
}  // namespace plimsoll::train
