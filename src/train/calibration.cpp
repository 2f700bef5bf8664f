#include "train/calibration.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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
#include "device/cpu/run_program.h"
#include "ops/cpu_kernels.h"
#include "train/trainer.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;

// What a program gains by its first job: library code, compiled kernels,
// threads. Measured 18 MiB; rounded up, since a library cannot rehearse inside
// somebody else's process.
constexpr std::int64_t kLibraryGrowthBytes = 24 * kMiB;

// Heap of graphs, plans and kernels: measured 4.1 KiB an instruction.
constexpr std::int64_t kLibraryInstructionBytes = 6 * kKiB;

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

// The run directory of a rehearsal.
struct TemporaryFolder {
  TemporaryFolder() {
    std::error_code ignored;
    const fs::path base = fs::temp_directory_path(ignored);
    path = fmt::format("{}/plimsoll-calibration-{}", base.string(), getpid());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  std::string path;
};

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

// Enough to tell the slope from the noise of a page here and there.
constexpr int kMoreLayers = 60;

Result<Calibration> calibrate_with(const std::string& calibrator, int threads,
                                   int more_layers) {
  PLIMSOLL_ASSIGN(const std::string text,
                  output_of({calibrator, "calibrate", "--threads",
                             fmt::format("{}", threads), "--more-layers",
                             fmt::format("{}", more_layers)}));
  Calibration measured;
  std::istringstream words(text);
  if (!(words >> measured.planning_bytes >> measured.process_bytes >>
        measured.instructions) ||
      measured.process_bytes <= 0 || measured.instructions <= 0) {
    return Error{ErrorCode::internal,
                 fmt::format("calibration printed \"{}\"", text)};
  }
  return measured;
}

// A line through a shallow and a deep network.
Status calibrate(const std::string& calibrator, DeviceProfile& profile) {
  warm_page_cache();
  PLIMSOLL_ASSIGN(const Calibration shallow,
                  calibrate_with(calibrator, profile.threads, 0));
  PLIMSOLL_ASSIGN(const Calibration deep,
                  calibrate_with(calibrator, profile.threads, kMoreLayers));
  const std::int64_t run =
      std::max<std::int64_t>(deep.instructions - shallow.instructions, 1);
  const auto line = [&](std::int64_t low, std::int64_t high,
                        std::int64_t& floor, std::int64_t& slope) {
    slope = std::max<std::int64_t>((high - low + run - 1) / run, 0);
    floor = low - slope * shallow.instructions;
  };
  line(shallow.process_bytes, deep.process_bytes, profile.runtime_floor_bytes,
       profile.instruction_bytes);
  line(shallow.planning_bytes, deep.planning_bytes,
       profile.planning_floor_bytes, profile.planning_instruction_bytes);
  return {};
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
  profile.library_versions["oneDNN"] = ops::onednn_version();
  profile.allowance_bytes = kAllowanceBytes;
  profile.measured = true;
  if (calibrator.empty()) {
    PLIMSOLL_ASSIGN(const ProcessMemory now, read_process_memory(getpid()));
    profile.runtime_floor_bytes = now.resident_bytes() + kLibraryGrowthBytes;
    profile.instruction_bytes = kLibraryInstructionBytes;
    profile.planning_floor_bytes = profile.runtime_floor_bytes;
    profile.planning_instruction_bytes = kLibraryInstructionBytes;
    return profile;
  }
  std::string key =
      fmt::format("{} {} {} {}", program_identity(calibrator), info.brand,
                  profile.instruction_set, profile.threads);
  for (const auto& [library, version] : profile.library_versions) {
    key += fmt::format(" {} {}", library, version);
  }
  const fs::path folder = cache_folder();
  const fs::path path =
      folder / fmt::format("cpu-{}.json", hash_text(stable_hash(key)));
  if (!folder.empty()) {
    if (auto cached = read_cache(path, profile.threads)) return *cached;
  }
  PLIMSOLL_RETURN_IF_ERROR(calibrate(calibrator, profile));
  if (folder.empty()) return profile;
  write_cache(path, to_json(profile));
  return read_cache(path, profile.threads).value_or(profile);
}

Result<Calibration> run_calibration(int threads, int more_layers) {
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
                      dense(128, "tanh")};
  // So narrow that our own kernels take them: what a library's primitive costs
  // is planned with each of them.
  for (int i = 0; i < more_layers; ++i) {
    job.model.layers.push_back(dense(4, "relu"));
  }
  job.model.layers.push_back(dense(10, "softmax"));
  job.data.source.name = "random";
  job.data.source.options = {
      {"examples", std::int64_t{1100}},
      {"features", std::vector<std::int64_t>{600}},
      {"labels", std::string("classes")},
      {"label_count", std::int64_t{10}},
  };
  job.data.validation = job.data.source;
  job.data.pipeline = data::default_pipeline();
  job.train.batch = 512;
  job.train.loss = "sparse_categorical_crossentropy";
  job.train.metrics = {"accuracy"};

  RunOptions options;
  options.threads = threads;
  TrainRequest request;
  const TemporaryFolder folder;
  request.run_dir = folder.path;
  PLIMSOLL_ASSIGN(const TrainOutcome outcome, train_job(job, options, request));
  return Calibration{
      outcome.planning_peak_bytes,
      outcome.rss_peak_bytes - outcome.pool_peak_bytes - outcome.kernel_bytes,
      outcome.instructions};
}

std::string to_text(const Calibration& calibration) {
  return fmt::format("{} {} {}\n", calibration.planning_bytes,
                     calibration.process_bytes, calibration.instructions);
}

}  // namespace plimsoll::train
