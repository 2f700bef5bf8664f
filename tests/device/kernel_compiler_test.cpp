// Kernels compiled ahead by processes of a helper; needs neither GPU nor NVRTC.
#include "device/cuda/kernel_compiler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

namespace plimsoll::cuda {
namespace {

namespace fs = std::filesystem;

class KernelCompilerTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / fmt::format("plimsoll-helper-{}", getpid());
    fs::create_directories(folder_);
    setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // A helper that says which source it was given, and runs `text`.
  std::string helper(const std::string& text) const {
    const fs::path path = folder_ / "helper";
    std::ofstream(path) << "#!/bin/sh\ncd " << folder_.string()
                        << "\ntouch started.$$ running.$$\n"
                        << "echo \"$1 $(cat \"$2\") $3\" >> asked\n"
                        << text << "\nrm running.$$\n";
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }
  std::multiset<std::string> lines(const char* file) const {
    std::ifstream from(folder_ / file);
    std::multiset<std::string> all;
    for (std::string line; std::getline(from, line);) all.insert(line);
    return all;
  }

  // Sources are handed over in files, which go with their helper.
  void expect_no_files() const {
    for (const auto& left :
         fs::recursive_directory_iterator(folder_ / "cache")) {
      EXPECT_TRUE(left.is_directory()) << left.path();
    }
  }

  fs::path folder_;
};

TEST_F(KernelCompilerTest, HelpersRunBesideEachOther) {
  const std::string program = helper(
      "for i in $(seq 400); do\n"
      "  [ $(ls started.* | wc -l) = 2 ] && echo met >> met && break\n"
      "  sleep 0.05\ndone");
  compile_kernels_ahead(std::vector<std::string>{"a", "b"}, "sm_90", program,
                        2);
  EXPECT_EQ(lines("met").size(), 2u);
}

TEST_F(KernelCompilerTest, EachSourceOnceAndNeverMoreHelpersThanAllowed) {
  const std::string program =
      helper("ls running.* | wc -l >> at_once\nsleep 0.02");
  compile_kernels_ahead(
      std::vector<std::string>{"a", "b", "a", "c", "d", "b", "e"}, "sm_90",
      program, 2);
  const std::multiset<std::string> all = {
      "compile-kernel a sm_90", "compile-kernel b sm_90",
      "compile-kernel c sm_90", "compile-kernel d sm_90",
      "compile-kernel e sm_90"};
  EXPECT_EQ(lines("asked"), all);
  for (const std::string& count : lines("at_once")) {
    EXPECT_LE(std::stoi(count), 2);
  }
  expect_no_files();
}

TEST_F(KernelCompilerTest, AHelperThatIsNotThereLeavesNothing) {
  compile_kernels_ahead(std::vector<std::string>{"a", "b", "c"}, "sm_90",
                        (folder_ / "nobody").string(), 2);
  expect_no_files();
}

}  // namespace
}  // namespace plimsoll::cuda
