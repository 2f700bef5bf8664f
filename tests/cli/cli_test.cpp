// The built program from outside: exit codes, JSON, signals.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using std::string;

struct Ran {
  int exit_code = -1;
  string output;  // both streams
};

Ran run_shell(const string& command) {
  Ran ran;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return ran;
  std::array<char, 4096> buffer;
  while (const size_t length = fread(buffer.data(), 1, buffer.size(), pipe))
    ran.output.append(buffer.data(), length);
  const int status = pclose(pipe);
  ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

Ran plimsoll(const string& arguments, const string& environment = "") {
  return run_shell(environment + " '" PLIMSOLL_BINARY "' " + arguments);
}

class CliTest : public testing::Test {
 protected:
  CliTest() {
    folder_ = testing::TempDir() + "plimsoll_cli_" + std::to_string(getpid());
    fs::create_directories(folder_);
    write(R"([model]
input = [16]
layers = [{ type = "dense", units = 8, activation = "relu" },
          { type = "dense", units = 1, activation = "sigmoid" }]
[data]
source = { type = "random", examples = 1000, features = [16], labels = { type = "binary" } }
[train]
batch = 32
epochs = 2
loss = "binary_crossentropy"
metrics = ["accuracy"]
)");
  }
  ~CliTest() override { fs::remove_all(folder_); }

  void write(const string& text) { std::ofstream(job()) << text; }
  string job() const { return folder_ + "/small.toml"; }
  string run_dir(const string& name) const { return folder_ + "/" + name; }
  Json read(const string& path) const {
    std::ifstream file(path);
    return Json::parse(file, nullptr, false);
  }

  string folder_;
};

void expect_has(const Ran& ran, const string& part) {
  EXPECT_NE(ran.output.find(part), string::npos) << part << "\nis not in\n"
                                                 << ran.output;
}

TEST_F(CliTest, UsageAndItsExitCodes) {
  EXPECT_EQ(plimsoll("--help").exit_code, 0);
  EXPECT_EQ(plimsoll("train --help").exit_code, 0);
  EXPECT_EQ(plimsoll("").exit_code, 2);
  EXPECT_EQ(plimsoll("fly").exit_code, 2);
  EXPECT_EQ(plimsoll("plan").exit_code, 2);
  EXPECT_EQ(plimsoll("plan " + job() + " --nonsense").exit_code, 2);
  const Ran explain = plimsoll("explain somewhere");
  EXPECT_EQ(explain.exit_code, 2);
  expect_has(explain, "not in this version");
}

TEST_F(CliTest, Devices) {
  const Ran text = plimsoll("devices");
  EXPECT_EQ(text.exit_code, 0);
  expect_has(text, "budget");
  const Json json = Json::parse(plimsoll("devices --json").output);
  EXPECT_GT(json.at("memory").at("total").get<std::int64_t>(), 0);
  EXPECT_GT(json.at("budget").at("bytes").get<std::int64_t>(), 0);
  EXPECT_EQ(plimsoll("devices", "PLIMSOLL_HOST_MEMORY=12").exit_code, 2);
}

TEST_F(CliTest, BadJobFilesAreExitTwoWithTheirPlace) {
  for (const char* command : {"plan ", "train --quiet "}) {
    const Ran missing = plimsoll(command + folder_ + "/nothing.toml");
    EXPECT_EQ(missing.exit_code, 2);
    expect_has(missing, "no such file");
    const Ran bad = plimsoll(command + job() + " --set train.lss=x");
    EXPECT_EQ(bad.exit_code, 2);
    expect_has(bad, "override `train.lss=x`: train.lss: unknown key");
    EXPECT_EQ(plimsoll(command + job() + " --batch 0").exit_code, 2);
  }
  write("[model]\ninput = [16]\nlayerz = []\n[data]\n[train]\n");
  const Ran bad = plimsoll("plan " + job());
  EXPECT_EQ(bad.exit_code, 2);
  expect_has(bad, "plimsoll: " + job() + ":3: model.layerz: unknown key");
}

TEST_F(CliTest, BadBudgetsAreExitTwo) {
  for (const char* size : {"12", "-1GiB", "1XiB", "0%", "GiB", "", "101%"}) {
    const string flag = string(" --host-memory='") + size + "'";
    EXPECT_EQ(plimsoll("plan " + job() + flag).exit_code, 2) << size;
    EXPECT_EQ(plimsoll("train --quiet " + job() + flag).exit_code, 2) << size;
    if (*size == '\0') continue;  // an empty variable is an unset one
    EXPECT_EQ(
        plimsoll("plan " + job(), string("PLIMSOLL_HOST_MEMORY='") + size + "'")
            .exit_code,
        2)
        << size;
  }
}

TEST_F(CliTest, PlanGivesOneObject) {
  const Ran ran = plimsoll("plan --json --host-memory 1GiB " + job());
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  const Json plan = Json::parse(ran.output);
  EXPECT_EQ(plan.at("fits"), true);
  EXPECT_EQ(plan.at("host").at("budget"), 1 << 30);
  EXPECT_EQ(plan.at("host").at("budget_source"), "--host-memory");
  std::int64_t sum = 0;
  for (const auto& [purpose, bytes] : plan.at("host").at("accounts").items())
    sum += bytes.get<std::int64_t>();
  EXPECT_EQ(sum, plan.at("host").at("peak"));
  EXPECT_TRUE(plan.at("device").is_null());
}

TEST_F(CliTest, FlagOverEnvironmentOverJobFile) {
  std::ofstream(job(), std::ios::app) << "[memory]\nhost = \"900MiB\"\n";
  const auto source = [&](const string& flags, const string& environment) {
    const Ran ran = plimsoll("plan --json " + flags + job(), environment);
    return Json::parse(ran.output).at("host").at("budget_source");
  };
  EXPECT_EQ(source("", ""), "job file");
  EXPECT_EQ(source("", "PLIMSOLL_HOST_MEMORY=800MiB"), "PLIMSOLL_HOST_MEMORY");
  EXPECT_EQ(source("--host-memory 700MiB ", "PLIMSOLL_HOST_MEMORY=800MiB"),
            "--host-memory");
}

TEST_F(CliTest, WhatDoesNotFitIsExitThreeAndTheFirstRemedyHelps) {
  const string tight = job() + " --host-memory 1MiB";
  const Ran ran = plimsoll("plan --json " + tight);
  ASSERT_EQ(ran.exit_code, 3) << ran.output;
  const Json plan = Json::parse(ran.output);
  EXPECT_EQ(plan.at("fits"), false);
  EXPECT_EQ(plan.at("first_to_exhaust"), "host");
  ASSERT_FALSE(plan.at("remedies").empty());
  const string apply = plan.at("remedies").at(0).at("apply");
  EXPECT_EQ(plimsoll("plan " + tight + " " + apply).exit_code, 0) << apply;
  const Ran train = plimsoll("train " + tight + " --run-dir " + run_dir("no"));
  EXPECT_EQ(train.exit_code, 3);
  expect_has(train, apply);
}

TEST_F(CliTest, Sweeps) {
  const Ran text = plimsoll("plan --sweep batch=8:32 " + job());
  EXPECT_EQ(text.exit_code, 0) << text.output;
  expect_has(text, "host peak");
  const Json json = Json::parse(
      plimsoll("plan --json --sweep examples=10:100 " + job()).output);
  EXPECT_EQ(json.at("sweep").front().at("examples"), 10);
  EXPECT_EQ(json.at("sweep").back().at("examples"), 100);
  EXPECT_EQ(plimsoll("plan --sweep batch=9:8 " + job()).exit_code, 2);
}

TEST_F(CliTest, TrainWritesItsRun) {
  const Ran ran = plimsoll("train " + job() + " --run-dir " + run_dir("a"));
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  expect_has(ran, "epoch 1/2 · 32/32 · loss ");
  expect_has(ran, "epoch 2/2 · 32/32 · loss ");
  expect_has(ran, "planned pools");
  EXPECT_EQ(ran.output.find('\r'), string::npos) << "no terminal, no redraw";
  const Json summary = read(run_dir("a") + "/summary.json");
  ASSERT_TRUE(summary.is_object());
  EXPECT_EQ(summary.at("steps"), 64);
  EXPECT_EQ(summary.at("forecast").at("host_ledger_peak"),
            summary.at("measured").at("host_ledger_peak"));
  EXPECT_TRUE(read(run_dir("a") + "/plan.json").is_object());
  const Ran quiet =
      plimsoll("train --quiet " + job() + " --run-dir " + run_dir("b"));
  EXPECT_EQ(quiet.exit_code, 0);
  EXPECT_EQ(quiet.output, "");
}

TEST_F(CliTest, ASignalStopsWithACheckpointToGoOnFrom) {
  const string common = "train " + job() +
                        " --set data.source.examples=400000000000 --epochs 1"
                        " --run-dir " +
                        run_dir("long");
  // The shell's child is the program itself: the signal reaches it.
  for (const char* signal : {"TERM", "USR1"}) {
    const Ran ran = run_shell("sh -c '\"" PLIMSOLL_BINARY "\" " + common +
                              " --resume & pid=$!; sleep 2; kill -" + signal +
                              " $pid; wait $pid'");
    EXPECT_EQ(ran.exit_code, 75) << ran.output;
    expect_has(ran, "--resume");
    EXPECT_FALSE(fs::is_empty(run_dir("long") + "/checkpoints"));
  }
}

TEST_F(CliTest, WatchPassesTheCodeOn) {
  EXPECT_EQ(plimsoll("watch -- sh -c 'exit 7'").exit_code, 7);
  EXPECT_EQ(plimsoll("watch --host-memory 12 -- true").exit_code, 2);
  EXPECT_EQ(plimsoll("watch true").exit_code, 2);
}

TEST_F(CliTest, PlansForADeviceThatIsNotHere) {
  const string planned =
      "plan --json --host-memory 4GiB --device-profile l4 " + job();
  const Ran ran = plimsoll(planned);
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  const Json plan = Json::parse(ran.output);
  EXPECT_EQ(plan.at("exact"), false);
  EXPECT_EQ(plan.at("device").at("budget_source"),
            "total device memory of l4 profile");
  std::int64_t sum = 0;
  for (const auto& [purpose, bytes] : plan.at("device").at("accounts").items())
    sum += bytes.get<std::int64_t>();
  EXPECT_EQ(sum, plan.at("device").at("peak"));

  const Ran tight = plimsoll(planned + " --device-memory 1MiB");
  ASSERT_EQ(tight.exit_code, 3) << tight.output;
  const Json refused = Json::parse(tight.output);
  EXPECT_EQ(refused.at("first_to_exhaust"), "device");
  const string apply = refused.at("remedies").at(0).at("apply");
  EXPECT_EQ(plimsoll(planned + " --device-memory 1MiB " + apply).exit_code, 0)
      << apply;

  const Ran unknown = plimsoll("plan --device-profile h300 " + job());
  EXPECT_EQ(unknown.exit_code, 2);
  expect_has(unknown, "h200, a100-80, l4, t4, rtx4090");
  const Ran bare = plimsoll(planned + " --device-memory 12");
  EXPECT_EQ(bare.exit_code, 2);
  expect_has(bare, "--device-memory: ");
  EXPECT_EQ(plimsoll("plan --device cuda:99999999999 " + job()).exit_code, 2);
}

TEST_F(CliTest, WhatADeviceLacksIsNamed) {
  const string no_driver = "LD_LIBRARY_PATH=/nowhere";
  const string fake = "LD_LIBRARY_PATH='" PLIMSOLL_FAKE_NVML_FOLDER "'";
  const auto failed = [&](const string& command, const string& environment,
                          const string& part) {
    const Ran ran = plimsoll(command + " " + job(), environment);
    EXPECT_EQ(ran.exit_code, 1) << ran.output;
    expect_has(ran, part);
  };
  for (const char* command : {"plan --device cuda:7", "train --device cuda:7"})
    failed(command, fake, "cuda:7: there is no such device");
  const Ran devices = plimsoll("devices", fake);
  EXPECT_EQ(devices.exit_code, 0);
  expect_has(devices, "cuda:1   NVIDIA Fake 1, compute capability 9.0");
  const Json json = Json::parse(plimsoll("devices --json", fake).output);
  EXPECT_EQ(json.at("cuda").at("devices").size(), 2u);
  // What the driver shows to the process, under the numbers it has there.
  expect_has(plimsoll("devices", fake + " CUDA_VISIBLE_DEVICES=1"),
             "cuda:0   NVIDIA Fake 1, compute capability 9.0");
  expect_has(plimsoll("devices", fake + " CUDA_DEVICE_ORDER=FASTEST_FIRST"),
             "cuda:0   NVIDIA Fake 1, compute capability 9.0");
  expect_has(plimsoll("devices", fake + " CUDA_VISIBLE_DEVICES="),
             "shows no device to this process");
  failed("plan --device cuda:1", fake + " CUDA_VISIBLE_DEVICES=0",
         "cuda:1: there is no such device");
  EXPECT_EQ(plimsoll("devices", fake + " PLIMSOLL_DEVICE_MEMORY=12").exit_code,
            2);
  // Where there is a driver it is found in spite of the search path.
  const Json here =
      Json::parse(plimsoll("devices --json", no_driver).output).at("cuda");
  if (!here.at("devices").empty()) return;
  expect_has(plimsoll("devices", no_driver),
             "no NVIDIA driver: libnvidia-ml.so.1 cannot be opened");
  failed("plan --device cuda:0", no_driver, "no NVIDIA driver");
  failed("train --device cuda:0", no_driver, "no NVIDIA driver");
}

}  // namespace
}  // namespace plimsoll::cli
