#include "device/cpu/process_tree.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "device/cpu/host_memory_source.h"
#include "device/cpu/process_memory.h"

namespace plimsoll {
namespace {

// A child that holds `bytes`, itself with a child that holds as much, both
// ready when the constructor returns and gone with the object.
class Family {
 public:
  explicit Family(std::int64_t bytes) {
    int ready[2];
    if (pipe(ready) != 0) return;
    child_ = fork();
    if (child_ == 0) {
      setpgid(0, 0);
      HostMemorySource source;
      const pid_t grandchild = fork();
      source.map(bytes);
      if (write(ready[1], "x", 1) != 1) _exit(1);
      pause();
      _exit(grandchild > 0 ? 0 : 1);
    }
    char x;
    ok_ = read(ready[0], &x, 1) == 1 && read(ready[0], &x, 1) == 1;
    close(ready[0]);
    close(ready[1]);
  }
  ~Family() {
    kill(-child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  bool ok() const { return ok_; }
  pid_t child() const { return child_; }

 private:
  pid_t child_ = -1;
  bool ok_ = false;
};

TEST(ProcessTreeTest, SumsAllDescendants) {
  const Family family(20 * kMiB);
  ASSERT_TRUE(family.ok());
  for (const bool exact : {false, true}) {
    ProcessTree tree(family.child());
    const TreeSample sample = tree.sample(exact);
    EXPECT_EQ(sample.processes, 2);
    EXPECT_GT(sample.bytes(), 39 * kMiB);
    EXPECT_GE(sample.high_bytes, sample.bytes());
    EXPECT_EQ(sample.pss_bytes.has_value(), exact);
    if (exact) {
      EXPECT_GT(*sample.pss_bytes, 39 * kMiB);
      EXPECT_LT(*sample.pss_bytes, sample.bytes());
    }
    ProcessTree ours(getpid(), /*with_root=*/false);
    EXPECT_EQ(ours.sample(exact).processes, 2);
    ProcessTree with_us(getpid());
    EXPECT_EQ(with_us.sample(exact).processes, 3);
  }
}

TEST(ProcessTreeTest, PeaksBetweenSamplesAreSeenOnce) {
  HostMemorySource source;
  ProcessTree tree(getpid());
  // Above any peak that earlier tests have left behind.
  const auto status = read_process_status(getpid());
  ASSERT_TRUE(status.ok());
  const std::int64_t bytes = round_up(status->peak_rss_bytes, kMiB) + 64 * kMiB;
  tree.sample(true);
  void* start = source.map(bytes);
  ASSERT_NE(start, nullptr);
  source.unmap(start, bytes);
  const TreeSample after = tree.sample(true);
  EXPECT_LT(after.bytes(), bytes);
  EXPECT_GE(after.high_bytes, bytes);
  const TreeSample later = tree.sample(true);
  EXPECT_LT(later.high_bytes, bytes);
}

TEST(ProcessTreeTest, AProcessThatIsGoneHoldsNothing) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  ProcessTree tree(child);
  const TreeSample sample = tree.sample(true);
  EXPECT_EQ(sample.processes, 0);
  EXPECT_EQ(sample.bytes(), 0);
}

}  // namespace
}  // namespace plimsoll
