#include "train/calibration.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "base/hash.h"
#include "base/units.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/process_memory.h"
#include "train/fit.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;

// What a program gains by its first job: library code, compiled kernels,
// threads. Measured 18 MiB; rounded up, since a library cannot rehearse inside
// somebody else's process.
constexpr std::int64_t kLibraryGrowthBytes = 24 * kMiB;

// Files this process has mapped: its program and libraries.
std::set<std::string> mapped_files() {
  std::set<std::string> files;
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    const auto slash = line.find('/');
    if (slash != std::string::npos) files.insert(line.substr(slash));
  }
  return files;
}

// With its files wholly in the page cache a process has the most of them
// mapped: the kernel maps what is cached around each fault.
void warm_page_cache() {
  std::array<char, 1 << 16> buffer;
  for (const std::string& path : mapped_files()) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    while (read(file, buffer.data(), buffer.size()) > 0) {
    }
    close(file);
  }
}

std::string program_identity(const std::string& program) {
  struct stat facts {};
  if (stat(program.c_str(), &facts) != 0) return program;
  return fmt::format("{}:{}:{}.{}", facts.st_ino, facts.st_size,
                     facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
}

fs::path cache_folder() {
  if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder && *folder) {
    return fs::path(folder) / "plimsoll";
  }
  if (const char* home = std::getenv("HOME"); home && *home) {
    return fs::path(home) / ".cache" / "plimsoll";
  }
  return {};
}

Result<std::int64_t> calibrate_with(const std::string& calibrator,
                                    int threads) {
  warm_page_cache();
  const std::string command =
      fmt::format("'{}' calibrate --threads {}",
                  fs::read_symlink(calibrator).string(), threads);
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return Error{ErrorCode::io, "cannot run " + command};
  std::array<char, 256> text{};
  const std::size_t length = fread(text.data(), 1, text.size(), pipe);
  const int exit_code = pclose(pipe);
  std::int64_t bytes = 0;
  const auto [end, failure] =
      std::from_chars(text.data(), text.data() + length, bytes);
  if (exit_code != 0 || failure != std::errc() || bytes <= 0) {
    return Error{
        ErrorCode::internal,
        fmt::format("calibration failed: {} gave exit code {} and "
                    "\"{}\"",
                    command, exit_code, std::string(text.data(), length))};
  }
  return bytes;
}

// Two processes may calibrate at once: the first to finish is believed, so
// that all plans of a machine have the same floor.
void write_cache(const fs::path& path, const std::string& text) {
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  const fs::path beside = path.string() + fmt::format(".{}", getpid());
  std::ofstream(beside) << text;
  fs::create_hard_link(beside, path, ignored);
  fs::remove(beside, ignored);
}

// Null where there is none, or none that can be read.
std::optional<DeviceProfile> read_cache(const fs::path& path, int threads) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::stringstream text;
  text << file.rdbuf();
  auto cached = device_profile_from_json(text.str());
  if (!cached || cached->threads != threads) {
    std::error_code ignored;
    fs::remove(path, ignored);
    return std::nullopt;
  }
  return *std::move(cached);
}

}  // namespace

Result<DeviceProfile> cpu_profile(int threads, const std::string& calibrator) {
  const CpuInfo info = read_cpu_info();
  DeviceProfile profile =
      assumed_cpu_profile(info, threads > 0 ? threads : info.usable_cores);
  profile.allowance_bytes = kAllowanceBytes;
  profile.measured = true;
  if (calibrator.empty()) {
    PLIMSOLL_ASSIGN(const ProcessMemory now, read_process_memory(getpid()));
    profile.runtime_floor_bytes = now.resident_bytes() + kLibraryGrowthBytes;
    return profile;
  }
  const std::string key =
      fmt::format("{} {} {} {}", program_identity(calibrator), info.brand,
                  profile.instruction_set, profile.threads);
  const fs::path folder = cache_folder();
  const fs::path path =
      folder / fmt::format("cpu-{}.json", hash_text(stable_hash(key)));
  if (!folder.empty()) {
    if (auto cached = read_cache(path, profile.threads)) return *cached;
  }
  PLIMSOLL_ASSIGN(profile.runtime_floor_bytes,
                  calibrate_with(calibrator, profile.threads));
  if (folder.empty()) return profile;
  write_cache(path, to_json(profile));
  return read_cache(path, profile.threads).value_or(profile);
}

Result<std::int64_t> run_calibration(int threads) {
  JobSpec job;
  job.model.input = {600};
  const auto dense = [](std::int64_t units, const char* activation) {
    LayerSpec layer;
    layer.type = "dense";
    layer.units = units;
    layer.activation = activation;
    return layer;
  };
  LayerSpec dropout;
  dropout.type = "dropout";
  dropout.rate = 0.5;
  job.model.layers = {dense(512, "relu"), dropout, dense(256, "gelu"),
                      dense(128, "tanh"), dense(10, "softmax")};
  job.data.source.type = "random";
  job.data.source.examples = 1100;
  job.data.source.features = {600};
  job.data.source.label_kind = LabelKind::classes;
  job.data.source.label_classes = 10;
  job.data.validation = job.data.source;
  job.data.pipeline = {{"shuffle", 2}, {"batch", 2}, {"prefetch", 2}};
  job.train.batch = 512;
  job.train.loss = "sparse_categorical_crossentropy";
  job.train.metrics = {"accuracy"};

  PLIMSOLL_ASSIGN(DeviceProfile profile, cpu_profile(threads, ""));
  Machine machine(std::move(profile));
  PLIMSOLL_ASSIGN(JobData data, open_data(job));
  PLIMSOLL_ASSIGN(const PlannedJob planned, plan_programs(job, data, machine));
  PLIMSOLL_ASSIGN(const auto running,
                  RunningJob::open(job, planned, data, machine));
  PLIMSOLL_ASSIGN(const FitRecord record,
                  fit(job, *running, data, machine, 0, {}, {}));
  return record.rss_peak_bytes - machine.host().peak_mapped_bytes() -
         planned.needs.kernel_bytes;
}

}  // namespace plimsoll::train
