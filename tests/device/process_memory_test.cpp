#include "device/cpu/process_memory.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "base/units.h"
#include "device/cpu/host_memory_source.h"

namespace plimsoll {
namespace {

TEST(ProcessMemoryTest, SeesWhatIsMapped) {
  const auto reader = ProcessMemoryReader::open_self();
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  HostMemorySource source;
  ProcessMemory before, during;
  ProcessStatus peak;
  ASSERT_TRUE(reader->read(before));
  EXPECT_GT(before.rss_bytes, before.anonymous_bytes);
  EXPECT_GE(before.rss_bytes, before.pss_bytes);
  void* start = source.map(32 * kMiB);
  ASSERT_TRUE(reader->read(during));
  source.unmap(start, 32 * kMiB);
  ASSERT_TRUE(reader->read(peak));
  EXPECT_GE(during.resident_bytes() - before.resident_bytes(), 32 * kMiB);
  EXPECT_LT(during.resident_bytes() - before.resident_bytes(), 40 * kMiB);
  // The mark stays when the memory is gone.
  EXPECT_GE(peak.peak_rss_bytes, before.rss_bytes + 31 * kMiB);
  EXPECT_LT(peak.rss_bytes, peak.peak_rss_bytes);
}

TEST(ProcessMemoryTest, ReadsOtherProcessesUntilTheyEnd) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const auto memory = read_process_memory(child);
  const auto status = read_process_status(child);
  ASSERT_TRUE(memory.ok()) << memory.error().message;
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_GT(memory->rss_bytes, 0);
  EXPECT_GE(status->peak_rss_bytes, status->rss_bytes);
  auto reader = ProcessMemoryReader::open(child);
  ASSERT_TRUE(reader.ok());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ProcessMemory gone;
  EXPECT_FALSE(reader->read(gone));
  EXPECT_FALSE(read_process_memory(child).ok());
  EXPECT_FALSE(read_process_status(child).ok());
}

TEST(ProcessMemoryTest, ThePeakIsCountedAnew) {
  constexpr std::int64_t kBytes = 64 << 20;
  const auto peak = [] {
    const auto status = read_process_status(getpid());
    return status ? status->peak_rss_bytes : -1;
  };
  const auto touch = [] {
    HostMemorySource source;
    void* const start = source.map(kBytes);
    std::memset(start, 1, kBytes);
    source.unmap(start, kBytes);
  };
  touch();
  const std::int64_t before = peak();
  if (!restart_peak_rss()) GTEST_SKIP() << "the peak cannot be counted anew";
  const std::int64_t after = peak();
  EXPECT_LT(after, before - kBytes / 2);
  touch();
  EXPECT_GT(peak(), after + kBytes / 2);
}

TEST(ProcessMemoryTest, ReadersMove) {
  auto reader = ProcessMemoryReader::open_self();
  ASSERT_TRUE(reader.ok());
  ProcessMemoryReader moved = *std::move(reader);
  ProcessMemoryReader target;
  ProcessMemory memory;
  EXPECT_FALSE(target.read(memory));
  target = std::move(moved);
  EXPECT_TRUE(target.read(memory));
}

}  // namespace
}  // namespace plimsoll
