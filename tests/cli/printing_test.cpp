#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/devices.h"
#include "cli/plan_json.h"
#include "cli/plan_text.h"
#include "cli/progress.h"
#include "cli/run_folder.h"
#include "cli/summary_text.h"

namespace plimsoll::cli {
namespace {

using Json = nlohmann::json;
using std::string;

constexpr std::int64_t kMiBytes = 1 << 20;

train::PlanReport sample_report() {
  train::PlanReport report;
  report.fits = true;
  report.host_budget = {128 * kMiBytes, "job file"};
  plan::SpaceForecast& host = report.plan.host;
  host.accounts[static_cast<std::size_t>(Purpose::parameters)] = 2 * kMiBytes;
  host.accounts[static_cast<std::size_t>(Purpose::runtime)] = 60 * kMiBytes;
  host.peak_bytes = 62 * kMiBytes;
  host.pool_bytes = 2 * kMiBytes;
  report.first_to_exhaust = "host";
  report.host_exhausts_at = 8192;
  report.choices.micro_batch = 32;
  report.choices.precision = "f32";
  report.choices.prefetch_batches = 2;
  report.step_seconds = 210e-6;
  report.compute_seconds = 200e-6;
  report.input_seconds = 10e-6;
  report.allowance_bytes = 4 * kMiBytes;
  report.remedies = {{"stream the data", "--set data.residency=stream",
                      100 * kMiBytes, 0, 1.25}};
  report.notes = {"a note"};
  return report;
}

void expect_has(const string& text, const string& part) {
  EXPECT_NE(text.find(part), string::npos) << part << "\nis not in\n" << text;
}

TEST(PlanJson, HasEveryKeyOfTheContract) {
  const train::PlanReport report = sample_report();
  const Json json = Json::parse(plan_json(report));
  EXPECT_EQ(json.at("fits"), true);
  EXPECT_EQ(json.at("exact"), true);
  EXPECT_EQ(json.at("host").at("budget"), 128 * kMiBytes);
  EXPECT_EQ(json.at("host").at("budget_source"), "job file");
  EXPECT_EQ(json.at("host").at("peak"), 62 * kMiBytes);
  std::int64_t sum = 0;
  for (const char* purpose :
       {"parameters", "gradients", "optimizer", "activations", "scratch",
        "pipeline", "staging", "cache", "runtime", "user"}) {
    sum += json.at("host").at("accounts").at(purpose).get<std::int64_t>();
  }
  EXPECT_EQ(sum, 62 * kMiBytes);
  EXPECT_EQ(json.at("host").at("accounts").size(), 10u);
  EXPECT_TRUE(json.at("device").is_null());
  EXPECT_EQ(json.at("first_to_exhaust"), "host");
  EXPECT_EQ(json.at("exhausts_at").at("host"), 8192);
  EXPECT_TRUE(json.at("exhausts_at").at("device").is_null());
  for (const char* choice :
       {"micro_batch", "accumulation_steps", "recomputed_ops",
        "offloaded_bytes", "precision", "prefetch_batches", "numerics"}) {
    EXPECT_TRUE(json.at("choices").contains(choice)) << choice;
  }
  for (const char* part : {"input", "copy", "compute"})
    EXPECT_TRUE(json.at("step_seconds").at(part).is_number()) << part;
  const Json& remedy = json.at("remedies").at(0);
  EXPECT_EQ(remedy.at("change"), "stream the data");
  EXPECT_EQ(remedy.at("apply"), "--set data.residency=stream");
  EXPECT_EQ(remedy.at("host_bytes_saved"), 100 * kMiBytes);
  EXPECT_EQ(remedy.at("device_bytes_saved"), 0);
  EXPECT_EQ(remedy.at("slowdown"), 1.25);
}

TEST(PlanJson, NothingRunsOutIsNull) {
  train::PlanReport report = sample_report();
  report.first_to_exhaust.reset();
  report.host_exhausts_at.reset();
  const Json json = Json::parse(plan_json(report));
  EXPECT_TRUE(json.at("first_to_exhaust").is_null());
  EXPECT_TRUE(json.at("exhausts_at").at("host").is_null());
}

TEST(PlanJson, ASweepStandsBesideThePlan) {
  const Json json =
      Json::parse(plan_json(sample_report(), {"batch", 32, 64},
                            {{32, 100, true, 0.5}, {64, 200, false, 0.75}}));
  EXPECT_EQ(json.at("fits"), true);
  ASSERT_EQ(json.at("sweep").size(), 2u);
  EXPECT_EQ(json.at("sweep")[1].at("batch"), 64);
  EXPECT_EQ(json.at("sweep")[1].at("host_peak"), 200);
  EXPECT_EQ(json.at("sweep")[1].at("fits"), false);
  EXPECT_EQ(json.at("sweep")[1].at("step_seconds"), 0.75);
}

train::PlanReport device_report() {
  train::PlanReport report = sample_report();
  report.exact = false;
  report.device_budget = {8192 * kMiBytes, "--device-memory"};
  plan::SpaceForecast& device = report.plan.device.emplace();
  device.accounts[static_cast<std::size_t>(Purpose::activations)] =
      24 * kMiBytes;
  device.accounts[static_cast<std::size_t>(Purpose::runtime)] = 576 * kMiBytes;
  device.peak_bytes = 600 * kMiBytes;
  device.pool_bytes = 24 * kMiBytes;
  report.device_allowance_bytes = 16 * kMiBytes;
  report.device_exhausts_at = 4096;
  report.first_to_exhaust = "device";
  return report;
}

TEST(PlanJson, ADeviceHasItsOwnObject) {
  const Json json = Json::parse(plan_json(device_report()));
  const Json& device = json.at("device");
  EXPECT_EQ(device.at("budget"), 8192 * kMiBytes);
  EXPECT_EQ(device.at("budget_source"), "--device-memory");
  EXPECT_EQ(device.at("peak"), 600 * kMiBytes);
  EXPECT_EQ(device.at("accounts").at("activations"), 24 * kMiBytes);
  EXPECT_EQ(device.at("accounts").size(), 10u);
  EXPECT_EQ(json.at("exact"), false);
  EXPECT_EQ(json.at("first_to_exhaust"), "device");
  EXPECT_EQ(json.at("exhausts_at").at("device"), 4096);
  EXPECT_EQ(json.at("exhausts_at").at("host"), 8192);
}

TEST(PlanText, ShowsBothMemoriesAndWhichRunsOutFirst) {
  train::PlanReport report = device_report();
  const auto text = [&] { return plan_text("a.toml", "plimsoll", report); };
  expect_has(text(),
             "fits: host memory peaks at 62.0 MiB at most (an estimate) of "
             "128.0 MiB, 66.0 MiB to spare; device memory peaks at 600.0 MiB "
             "at most (an estimate) of 8.0 GiB, 7.4 GiB to spare\n");
  expect_has(text(), "\nhost memory at its peak\n");
  expect_has(text(), "\ndevice memory at its peak\n  activations");
  expect_has(text(), "with 16.0 MiB allowance\n");
  expect_has(text(),
             "Device memory runs out first, at batch 4,096; host memory at "
             "batch 8,192.\n");
  report.device_exhausts_at.reset();
  expect_has(text(),
             "Host memory runs out first, at batch 8,192; device memory lasts "
             "for every batch up to 65,536.\n");
}

TEST(PlanText, SaysVerdictAccountsAndWhatHelps) {
  const string text =
      plan_text("a.toml", "plimsoll plan a.toml", sample_report());
  expect_has(text,
             "a.toml: fits: host memory peaks at 62.0 MiB of 128.0 MiB, "
             "66.0 MiB to spare");
  expect_has(text, "parameters");
  expect_has(text, "2,097,152 B");
  expect_has(text, "from job file");
  expect_has(text, "with 4.0 MiB allowance");
  EXPECT_EQ(text.find("gradients"), string::npos) << "empty accounts stay out";
  expect_has(text, "Host memory runs out first, at batch 8,192.");
  expect_has(text, "32 examples in f32, 2 batches fetched ahead");
  expect_has(text, "210 µs a step (input 10 µs, copy 0 s, compute 200 µs)");
  expect_has(text, "a note\n");
  expect_has(text,
             "stream the data (saves 100.0 MiB of host memory, takes 1.25 "
             "times as long)");
  expect_has(text, "plimsoll plan a.toml --set data.residency=stream\n");
}

TEST(PlanText, ARefusalGivesItsReason) {
  train::PlanReport report = sample_report();
  report.fits = false;
  report.refusal = "too much of everything";
  const string text = plan_text("a.toml", "plimsoll plan a.toml", report);
  expect_has(text, "a.toml: does not fit: too much of everything\n");
  expect_has(text, "What would make it fit:");
}

TEST(PlanText, SweepColumnsLineUp) {
  const string text = sweep_text(
      {"batch", 32, 64}, {{32, kMiBytes, true, 5e-5}, {64, 1, false, 2}});
  expect_has(text, "          32       1.0 MiB       yes       50 µs\n");
  expect_has(text, "          64           1 B        no       2.0 s\n");
}

train::Progress sample_progress() {
  train::Progress progress;
  progress.epoch = 1;
  progress.epochs = 2;
  progress.step = 812;
  progress.steps = 31250;
  progress.loss = 0.69314;
  progress.examples_per_second = 9800;
  progress.eta_seconds = 12.2;
  progress.host_bytes = 212 * kMiBytes;
  progress.host_budget_bytes = 1024 * kMiBytes;
  return progress;
}

string line_of(const train::Progress& progress) {
  char buffer[512];
  return string(progress_line(progress, buffer, sizeof buffer));
}

TEST(Progress, OneLineSaysItAll) {
  train::Progress progress = sample_progress();
  EXPECT_EQ(line_of(progress),
            "epoch 1/2 · 812/31250 · loss 0.6931 · 9.8k ex/s · ETA 0:12 · "
            "host 212 MiB of 1 GiB");
  progress.metrics = {{"accuracy", 0.5}};
  progress.validation_loss = 0.25;
  progress.eta_seconds = 3725;
  progress.examples_per_second = 2.5e6;
  progress.host_bytes = kMiBytes * 3 / 2;
  EXPECT_EQ(line_of(progress),
            "epoch 1/2 · 812/31250 · loss 0.6931 · accuracy 0.5000 · val_loss "
            "0.2500 · 2.5M ex/s · ETA 1:02:05 · host 1.5 MiB of 1 GiB");
}

TEST(Progress, ASmallBufferCutsTheLine) {
  char buffer[8] = "1234567";
  EXPECT_EQ(progress_line(sample_progress(), buffer, 7), "epoch 1");
  EXPECT_EQ(buffer[7], '\0');
}

TEST(Progress, ClipsByCharactersNotBytes) {
  EXPECT_EQ(clip_to_columns("a · b", 5), "a · b");
  EXPECT_EQ(clip_to_columns("a · b", 3), "a ·");
  EXPECT_EQ(clip_to_columns("a · b", 2), "a ");
  EXPECT_EQ(clip_to_columns("abc", 0), "");
}

class Printed {
 public:
  Printed() { EXPECT_EQ(pipe2(ends_, O_NONBLOCK), 0); }
  ~Printed() {
    close(ends_[0]);
    close(ends_[1]);
  }
  int file() const { return ends_[1]; }
  string take() {
    char buffer[4096];
    const ssize_t length = read(ends_[0], buffer, sizeof buffer);
    return length <= 0 ? "" : string(buffer, static_cast<size_t>(length));
  }

 private:
  int ends_[2];
};

TEST(Progress, ALogGetsALineEveryTenSecondsAndOneAnEpoch) {
  Printed printed;
  ProgressPrinter printer(printed.file(), false);
  const auto start = ProgressPrinter::Clock::now();
  train::Progress progress = sample_progress();
  printer.show(progress, start);
  printer.show(progress, start + std::chrono::seconds(9));
  EXPECT_EQ(printed.take(), "");
  printer.show(progress, start + std::chrono::seconds(11));
  EXPECT_EQ(printed.take(), line_of(progress) + "\n");
  printer.show(progress, start + std::chrono::seconds(12));
  EXPECT_EQ(printed.take(), "");
  progress.epoch_end = true;
  printer.show(progress, start + std::chrono::seconds(13));
  EXPECT_EQ(printed.take(), line_of(progress) + "\n");
  printer.finish();
  EXPECT_EQ(printed.take(), "");
}

TEST(Progress, ATerminalHasOneLineRedrawn) {
  Printed printed;
  ProgressPrinter printer(printed.file(), true);
  const auto start = ProgressPrinter::Clock::now();
  train::Progress progress = sample_progress();
  printer.show(progress, start);
  // A pipe has no width: 80 columns are assumed, the last left free.
  const string first = printed.take();
  EXPECT_EQ(first,
            "\r" + string(clip_to_columns(line_of(progress), 79)) + "\x1b[K");
  printer.show(progress, start + std::chrono::milliseconds(5));
  EXPECT_EQ(printed.take(), "") << "not more often than the eye can see";
  progress.epoch_end = true;
  printer.show(progress, start + std::chrono::milliseconds(6));
  EXPECT_EQ(printed.take(), first + "\n");
  progress.epoch_end = false;
  printer.show(progress, start + std::chrono::seconds(1));
  EXPECT_EQ(printed.take(), first);
  printer.finish();
  EXPECT_EQ(printed.take(), "\n");
}

TEST(SweepText, HasTheDeviceWhereThereIsOne) {
  std::vector<train::SweepRow> rows = {{32, 100, true, 0.5}};
  EXPECT_EQ(sweep_text({"batch", 32, 32}, rows).find("device"), string::npos);
  rows[0].device_peak_bytes = 600 * kMiBytes;
  const string text = sweep_text({"batch", 32, 32}, rows);
  expect_has(text, "   host peak   device peak      fits");
  expect_has(text, "600.0 MiB       yes");
  const Json json =
      Json::parse(plan_json(device_report(), {"batch", 32, 32}, rows));
  EXPECT_EQ(json.at("sweep")[0].at("device_peak"), 600 * kMiBytes);
}

TEST(Devices, GpusAreListedWithTheirBudget) {
  CudaListing cuda;
  cuda.built = true;
  GpuListing gpu;
  gpu.facts = {"NVIDIA H200",
               "GPU-1",
               1024 * kMiBytes,
               1000 * kMiBytes,
               24 * kMiBytes,
               9,
               0};
  gpu.budget = {1000 * kMiBytes, "free device memory"};
  cuda.devices = {gpu};
  expect_has(cuda_text(cuda),
             "cuda:0   NVIDIA H200, compute capability 9.0\n"
             "memory   1.0 GiB total, 1000.0 MiB free\n"
             "budget   1000.0 MiB unless a job says less, from free device "
             "memory\n"
             "copies   not measured\n");
  const auto json_of = [&] {
    return Json::parse(devices_json({}, {}, {}, cuda)).at("cuda");
  };
  EXPECT_EQ(json_of().at("built"), true);
  EXPECT_TRUE(json_of().at("missing").is_null());
  const Json device = json_of().at("devices").at(0);
  EXPECT_EQ(device.at("name"), "cuda:0");
  EXPECT_EQ(device.at("model"), "NVIDIA H200");
  EXPECT_EQ(device.at("uuid"), "GPU-1");
  EXPECT_EQ(device.at("total"), 1024 * kMiBytes);
  EXPECT_EQ(device.at("free"), 1000 * kMiBytes);
  EXPECT_EQ(device.at("budget").at("source"), "free device memory");
  EXPECT_EQ(device.at("compute_capability"), "9.0");
  EXPECT_TRUE(device.at("copy_to_device_bytes_per_second").is_null());

  cuda.devices[0].profile.emplace().copy_to_device_bytes_per_second = 55e9;
  cuda.devices[0].profile->copy_to_host_bytes_per_second = 54e9;
  expect_has(cuda_text(cuda),
             "copies   55.0 GB/s to the device, 54.0 GB/s back\n");
  EXPECT_EQ(json_of().at("devices").at(0).at("copy_to_host_bytes_per_second"),
            54e9);
}

TEST(Devices, NameTheLimitThatBinds) {
  CpuInfo cpu;
  cpu.brand = "A processor";
  cpu.instruction_set = InstructionSet::avx512;
  cpu.affinity_cores = 4;
  cpu.usable_cores = 2;
  SystemMemory memory;
  memory.total_bytes = 8192 * kMiBytes;
  memory.available_bytes = 4096 * kMiBytes;
  memory.limits = {{4096 * kMiBytes, "available memory"},
                   {2048 * kMiBytes, "cgroup limit at /x"}};
  const Budget budget = {2048 * kMiBytes, "cgroup limit at /x"};
  CudaListing cuda;
  cuda.missing = "no NVIDIA driver";
  const string text = devices_text(cpu, memory, budget, cuda);
  expect_has(text, "2 cores usable of 4, avx512");
  expect_has(text, "swap     none\n");
  expect_has(text, "2.0 GiB (cgroup limit at /x): binds\n");
  expect_has(text, "cuda     no NVIDIA driver\n");

  const Json json = Json::parse(devices_json(cpu, memory, budget, cuda));
  EXPECT_EQ(json.at("devices").at(0).at("usable_cores"), 2);
  EXPECT_EQ(json.at("limits").at(0).at("binds"), true);
  EXPECT_EQ(json.at("limits").at(0).at("source"), "cgroup limit at /x");
  EXPECT_EQ(json.at("limits").at(1).at("binds"), false);
  EXPECT_EQ(json.at("cgroup_limit"), 2048 * kMiBytes);
  EXPECT_EQ(json.at("budget").at("bytes"), 2048 * kMiBytes);
  EXPECT_EQ(json.at("cuda").at("built"), false);
  EXPECT_TRUE(json.at("cuda").at("devices").empty());
  EXPECT_EQ(json.at("cuda").at("missing"), "no NVIDIA driver");
}

TEST(SummaryText, SetsForecastAgainstMeasured) {
  const string text = summary_text(R"({"steps": 1250, "seconds": 2.5,
    "examples_per_second": 16000.4,
    "forecast": {"host_peak": 3000, "host_ledger_peak": 1000},
    "measured": {"host_rss_peak": 2900, "host_ledger_peak": 1000}})");
  expect_has(text, "1,250 steps in 2.5 s, 16,000 examples/s\n");
  expect_has(text, "whole process                3,000 B             2,900 B");
  expect_has(text, "planned pools                1,000 B             1,000 B");
  EXPECT_EQ(summary_text("no json"), "");
  expect_has(summary_text("{}"), "-");
}

TEST(RunFolder, NeverTakesOneThatIsThere) {
  namespace fs = std::filesystem;
  const string base = testing::TempDir() + "plimsoll_run_folder_test";
  fs::remove_all(base);
  EXPECT_EQ(choose_run_folder(base, "x/a.toml", false), base + "/a");
  EXPECT_EQ(choose_run_folder(base, "x/a.toml", true), base + "/a");
  fs::create_directories(base + "/a");
  EXPECT_EQ(choose_run_folder(base, "x/a.toml", false), base + "/a-2");
  EXPECT_EQ(choose_run_folder(base, "x/a.toml", true), base + "/a");
  fs::create_directories(base + "/a-2");
  EXPECT_EQ(choose_run_folder(base, "x/a.toml", true), base + "/a-2");
  fs::remove_all(base);
}

}  // namespace
}  // namespace plimsoll::cli
