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
  std::int64_t host_bytes(double mib, const std::string& job = "a job") {
    const auto measure = library_measure_by(rehearsal_, "cuda:0", "a machine");
    const auto cost =
        measure(fmt::format("3 product f32 {}\n", bytes_of(mib)), job);
    EXPECT_TRUE(cost) << cost.error().message;
    return cost ? cost->host_bytes : -1;
  }
  static std::int64_t bytes_of(double mib) {
    return static_cast<std::int64_t>(mib * double{kMiB});
  }

  const TemporaryFolder folder_;
  const std::string rehearsal_ = folder_.path() + "/rehearsal";
};

TEST_F(WorkRehearsal, BatchesOfAJobTakeTheSame) {
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

TEST_F(WorkRehearsal, WhatWasSaidOfWorkIsSaidAgain) {
  host_bytes(104);
  const std::int64_t said = host_bytes(105.9);
  host_bytes(106.5);
  host_bytes(107);
  EXPECT_EQ(host_bytes(105.9), said);
}

TEST_F(WorkRehearsal, OtherJobsHaveLevelsOfTheirOwn) {
  const std::int64_t first = host_bytes(104);
  EXPECT_NE(host_bytes(104.6, "another job"), first);
}

}  // namespace
}  // namespace plimsoll::train
