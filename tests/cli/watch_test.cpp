#include "cli/watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/units.h"
#include "memory/planted_root.h"

namespace plimsoll::cli {
namespace {

struct Watched {
  int exit_code = 0;
  std::string errors;
  nlohmann::json report;
};

class WatchTest : public testing::Test {
 protected:
  Watched watch(std::vector<std::string> command,
                std::optional<std::int64_t> line = std::nullopt) {
    Watched watched;
    testing::internal::CaptureStderr();
    const std::string path = folder_.path() + "/watch.json";
    watched.exit_code = run_watch({line, path}, std::move(command));
    watched.errors = testing::internal::GetCapturedStderr();
    std::ifstream(path) >> watched.report;
    return watched;
  }
  Watched shell(const std::string& script,
                std::optional<std::int64_t> line = std::nullopt) {
    return watch({"/bin/sh", "-c", script}, line);
  }
  PlantedRoot folder_;
};

// A child that holds a block of zeros from /dev/zero: `dd` with one block.
std::string hold(int mib, const char* then = "") {
  return "dd if=/dev/zero of=/dev/null bs=" + std::to_string(mib) +
         "M count=3 2>/dev/null" + then;
}

TEST_F(WatchTest, PassesTheCommandsCodeOn) {
  EXPECT_EQ(shell("exit 0").exit_code, 0);
  EXPECT_EQ(shell("exit 7").exit_code, 7);
  EXPECT_EQ(shell("kill -KILL $$").exit_code, 128 + SIGKILL);
  EXPECT_EQ(shell("exit 7").report["exit_code"], 7);
}

TEST_F(WatchTest, CommandsThatCannotBeStarted) {
  const Watched missing = watch({"no-such-command-anywhere"});
  EXPECT_EQ(missing.exit_code, 127);
  EXPECT_NE(missing.errors.find("no-such-command-anywhere"), std::string::npos);
  EXPECT_EQ(watch({"/"}).exit_code, 126);
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_watch({}, {}), 2);
  EXPECT_EQ(run_watch({std::nullopt, "/no/such/folder/x.json"}, {"true"}), 1);
  testing::internal::GetCapturedStderr();
}

TEST_F(WatchTest, ReportsEveryField) {
  const Watched watched = shell("sleep 0.1");
  std::set<std::string> keys;
  for (const auto& [key, value] : watched.report.items()) keys.insert(key);
  EXPECT_EQ(keys,
            (std::set<std::string>{
                "command", "exit_code", "seconds", "samples", "peak_bytes",
                "peak_rss_bytes", "peak_swap_bytes", "last_bytes",
                "growth_bytes_per_minute", "host_memory_bytes", "over_line",
                "seconds_to_line", "peak_processes"}));
  EXPECT_EQ(watched.report["command"],
            (std::vector<std::string>{"/bin/sh", "-c", "sleep 0.1"}));
  EXPECT_GE(watched.report["seconds"], 0.1);
  EXPECT_GT(watched.report["samples"], 1);
  EXPECT_GT(watched.report["last_bytes"], 0);
  EXPECT_TRUE(watched.report["host_memory_bytes"].is_null());
  EXPECT_TRUE(watched.report["seconds_to_line"].is_null());
  EXPECT_EQ(watched.report["over_line"], false);
  EXPECT_NE(watched.errors.find("peak"), std::string::npos);
  EXPECT_EQ(std::count(watched.errors.begin(), watched.errors.end(), '\n'), 1);
}

TEST_F(WatchTest, SeesAGrandchildsShortPeak) {
  const std::int64_t peak = shell(hold(60, "; sleep 0.1")).report["peak_bytes"];
  EXPECT_GE(peak, 60 * kMiB);
  EXPECT_LT(peak, 80 * kMiB);
}

TEST_F(WatchTest, SumsProcessesThatRunTogether) {
  const Watched watched = shell("sleep 0.2 & sleep 0.2 & wait");
  EXPECT_EQ(watched.report["peak_processes"], 3);
}

// The shell that started it is gone, but it stays under watch.
TEST_F(WatchTest, OrphansStayInTheTree) {
  const Watched watched =
      shell("( ( sleep 0.1; " + hold(60) + " ) & ) ; exec sleep 0.6");
  EXPECT_GE(watched.report["peak_bytes"], 60 * kMiB);
  EXPECT_EQ(watched.exit_code, 0);
}

TEST_F(WatchTest, WarnsOnceWhenTheLineIsPassed) {
  const Watched over = shell(hold(60) + ";" + hold(70), 30 * kMiB);
  EXPECT_EQ(over.exit_code, 0);
  EXPECT_EQ(over.report["over_line"], true);
  EXPECT_EQ(over.report["seconds_to_line"], 0.0);
  EXPECT_EQ(over.report["host_memory_bytes"], 30 * kMiB);
  const std::size_t first = over.errors.find("passed the line");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(over.errors.find("passed the line", first + 1), std::string::npos);
  const Watched under = shell("sleep 0.05", 500 * kMiB);
  EXPECT_EQ(under.report["over_line"], false);
  EXPECT_EQ(under.errors.find("passed"), std::string::npos);
}

TEST_F(WatchTest, SignalsArePassedOn) {
  const pid_t watcher = fork();
  if (watcher == 0) {
    const int null = creat("/dev/null", 0600);
    dup2(null, 2);
    _exit(run_watch({}, {"/bin/sh", "-c",
                         "trap 'exit 42' TERM; touch " + folder_.path() +
                             "/ready; while :; do sleep 0.05; done"}));
  }
  for (int i = 0; i < 1000 && access((folder_.path() + "/ready").c_str(), F_OK);
       ++i) {
    usleep(5000);
  }
  kill(watcher, SIGTERM);
  int status = 0;
  waitpid(watcher, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

TEST_F(WatchTest, LeavesTheCallersSignalsAsTheyWere) {
  sigset_t before, after;
  pthread_sigmask(SIG_BLOCK, nullptr, &before);
  shell("exit 0");
  pthread_sigmask(SIG_BLOCK, nullptr, &after);
  for (const int signal : {SIGINT, SIGTERM, SIGCHLD}) {
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
  }
}

}  // namespace
}  // namespace plimsoll::cli
