#include "train/calibration.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/units.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/process_memory.h"
#include "device/cpu/run_program.h"
#include "device/device_name.h"
#include "ops/cpu_kernels.h"
#include "train/cuda_job.h"
#include "train/cuda_profile.h"
#include "train/layers/layer_def.h"
#include "train/profile_cache.h"
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

// The same while planning, a value of graphs: measured 570 to 620 B in networks
// of dense layers, attention and normalization, 700 where remedies are found.
constexpr std::int64_t kLeastValueBytes = 736;
constexpr std::int64_t kLibraryValueBytes = kKiB;

// Code of oneDNN's convolutions: measured 7 MiB.
constexpr std::int64_t kLibraryConvolutionBytes = 8 * kMiB;

constexpr const char* kCpuKind = "cpu";

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

Status calibrate(const std::string& calibrator, DeviceProfile& profile) {
  warm_page_cache();
  Rehearsal rehearsal;
  rehearsal.threads = profile.threads;
  PLIMSOLL_ASSIGN(const Calibration shallow, rehearse(calibrator, rehearsal));
  rehearsal.more_layers = kMoreLayers;
  PLIMSOLL_ASSIGN(const Calibration deep, rehearse(calibrator, rehearsal));
  const Slope line(shallow, deep);
  line.set(shallow.process_bytes, deep.process_bytes,
           profile.runtime_floor_bytes, profile.instruction_bytes);
  // A rehearsal's further layers are all alike and share their kernels; those
  // of networks have more to say.
  profile.instruction_bytes =
      std::max(profile.instruction_bytes, kLibraryInstructionBytes);
  const Slope by_values(shallow, deep, &Calibration::graph_values);
  by_values.set(shallow.planning_bytes, deep.planning_bytes,
                profile.planning_floor_bytes, profile.planning_value_bytes);
  profile.planning_value_bytes =
      std::max(profile.planning_value_bytes, kLeastValueBytes);
  rehearsal.more_layers = 0;
  rehearsal.convolutions = true;
  PLIMSOLL_ASSIGN(const Calibration convolving,
                  rehearse(calibrator, rehearsal));
  profile.host_convolution_bytes = std::max<std::int64_t>(
      convolving.process_bytes - profile.runtime_floor_bytes -
          profile.instruction_bytes * convolving.instructions,
      0);
  return {};
}

// Of the kinds that networks have, in each type that oneDNN convolves: each
// brings code of the library into memory.
void make_convolutional(ModelSpec& model) {
  struct Kind {
    const char* type;
    std::int64_t filters, kernel, stride;
  };
  constexpr Kind kKinds[] = {{"conv2d", 32, 3, 1},
                             {"conv2d", 64, 3, 2},
                             {"conv2d", 32, 1, 1},
                             {"depthwise_conv2d", 0, 3, 1}};
  model.input = {16, 16, 3};
  model.layers.clear();
  for (const char* precision : {"f32", "bf16"}) {
    for (const Kind& kind : kKinds) {
      LayerSpec& layer = model.layers.emplace_back();
      static_cast<Layer&>(layer) = make_layer(kind.type);
      layer.filters = kind.filters;
      layer.kernel_size = {kind.kernel, kind.kernel};
      layer.strides = {kind.stride, kind.stride};
      layer.padding = "same";
      layer.activation = "relu";
      layer.precision = precision;
    }
  }
  model.layers.emplace_back().type = "flatten";
}

}  // namespace

Slope::Slope(const Calibration& shallow, const Calibration& deep,
             std::int64_t Calibration::*by)
    : low(shallow.*by), run(std::max<std::int64_t>(deep.*by - low, 1)) {}

void Slope::set(std::int64_t at_low, std::int64_t at_high, std::int64_t& floor,
                std::int64_t& slope) const {
  slope = std::max<std::int64_t>((at_high - at_low + run - 1) / run, 0);
  floor = at_low - slope * low;
}

Result<Calibration> rehearse(const std::string& calibrator,
                             const Rehearsal& rehearsal) {
  const auto flag = [](bool on) { return std::string(on ? "1" : "0"); };
  PLIMSOLL_ASSIGN(
      const std::string text,
      output_of({calibrator,       "calibrate",
                 "--threads",      fmt::format("{}", rehearsal.threads),
                 "--more-layers",  fmt::format("{}", rehearsal.more_layers),
                 "--spread",       flag(rehearsal.spread),
                 "--device",       rehearsal.device,
                 "--precision",    std::string(name_of(rehearsal.precision)),
                 "--products",     flag(rehearsal.products),
                 "--tf32",         flag(rehearsal.tf32),
                 "--pinned",       flag(rehearsal.pinned),
                 "--convolutions", flag(rehearsal.convolutions)}));
  return calibration_from_text(text);
}

Result<DeviceProfile> cpu_profile(int threads, const std::string& calibrator) {
  const CpuInfo info = read_cpu_info();
  DeviceProfile profile =
      assumed_cpu_profile(info, threads > 0 ? threads : info.usable_cores);
  profile.library_versions["oneDNN"] = ops::onednn_version();
  profile.allowance_bytes = kAllowanceBytes;
  profile.measured = !calibrator.empty();
  if (calibrator.empty()) {
    PLIMSOLL_ASSIGN(const ProcessMemory now, read_process_memory(getpid()));
    profile.runtime_floor_bytes = now.resident_bytes() + kLibraryGrowthBytes;
    profile.instruction_bytes = kLibraryInstructionBytes;
    profile.planning_floor_bytes = profile.runtime_floor_bytes;
    profile.planning_value_bytes = kLibraryValueBytes;
    profile.host_convolution_bytes = kLibraryConvolutionBytes;
    return profile;
  }
  std::string key =
      fmt::format("{} {} {} {}", program_identity(calibrator), info.brand,
                  profile.instruction_set, profile.threads);
  for (const auto& [library, version] : profile.library_versions) {
    key += fmt::format(" {} {}", library, version);
  }
  return cached_profile(kCpuKind, key, [&]() -> Result<DeviceProfile> {
    PLIMSOLL_RETURN_IF_ERROR(calibrate(calibrator, profile));
    return profile;
  });
}

void forget_cpu_profile() { forget_profiles(kCpuKind); }

Result<Calibration> run_calibration(const Rehearsal& rehearsal) {
  unsetenv(kPlantVariable);  // meant for the job that is rehearsed for
  JobSpec job;
  const std::int64_t width = rehearsal.products ? 600 : 16;
  const auto wide = [&](std::int64_t many) {
    return rehearsal.products ? many : 8;
  };
  job.model.input = {width};
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
  job.model.layers = {dense(wide(512), "relu"), dropout,
                      dense(wide(256), "gelu"), dense(wide(128), "tanh")};
  // So narrow that our own kernels take them: what a library's primitive costs
  // is planned with each of them.
  for (int i = 0; i < rehearsal.more_layers; ++i) {
    // Or so wide, each in its own way, that neighbours are not merged.
    job.model.layers.push_back(
        dense(rehearsal.spread ? 96 + 8 * i : 4, "relu"));
  }
  job.train.batch = rehearsal.convolutions ? 8 : 512;
  if (rehearsal.convolutions) make_convolutional(job.model);
  job.model.layers.push_back(dense(10, "softmax"));
  job.data.source.name = "random";
  // With a partial batch, which needs kernels of its own.
  const std::int64_t left = rehearsal.convolutions ? 0 : job.train.batch / 4;
  job.data.source.options = {
      {"examples", 2 * job.train.batch + left},
      {"features", job.model.input},
      {"labels", std::string("classes")},
      {"label_count", std::int64_t{10}},
  };
  if (!rehearsal.convolutions) job.data.validation = job.data.source;
  job.data.pipeline = data::default_pipeline();
  job.train.loss = "sparse_categorical_crossentropy";
  job.train.metrics = {"accuracy"};
  job.train.precision = rehearsal.precision;
  job.train.tf32 = rehearsal.tf32;
  job.memory.pinned = rehearsal.pinned;

  RunOptions options;
  options.threads = rehearsal.threads;
  options.device = rehearsal.device;
  options.rehearsal = true;
  options.compiler = rehearsal.compiler;
  TrainRequest request;
  const TemporaryFolder folder;
  request.run_dir = folder.path;
  PLIMSOLL_ASSIGN(const TrainOutcome outcome, train_job(job, options, request));
  Calibration measured;
  measured.planning_bytes = outcome.planning_peak_bytes;
  measured.process_bytes = outcome.rss_peak_bytes - outcome.pool_peak_bytes;
  // What is planned for kernels is on the safe side, about twice what they
  // take, and more for convolutions: that must not make the rest look smaller
  // than it is.
  if (!rehearsal.convolutions) {
    measured.process_bytes -= outcome.kernel_bytes / 2;
  }
  measured.instructions = outcome.instructions;
  measured.graph_values = outcome.graph_values;
  if (rehearsal.device == "cpu") return measured;
  measured.device_bytes = outcome.device_peak_bytes - outcome.device_pool_bytes;
  measured.device_shared = outcome.device_shared;
  // Last, since it takes memory of its own.
  PLIMSOLL_ASSIGN(const int ordinal, cuda_ordinal(rehearsal.device));
  PLIMSOLL_ASSIGN(CudaModule* const module, open_cuda_module());
  PLIMSOLL_ASSIGN(const auto device, module->open(ordinal, ""));
  PLIMSOLL_ASSIGN(measured.copies, measure_copies(*device));
  // Once is enough. Without the library jobs that need it are refused by name.
  if (rehearsal.products && rehearsal.more_layers == 0) {
    PLIMSOLL_ASSIGN(DeviceMeter meter, DeviceMeter::open(ordinal));
    if (const auto cost = measure_convolutions(
            *device, meter, rehearsal.precision, rehearsal.tf32)) {
      measured.convolutions = *cost;
    }
    if (const auto version = module->layer_library_version()) {
      measured.versions["cudnn"] = *version;
    }
  }
  for (const auto& [library, version] : device->profile().library_versions) {
    if (library != "driver") measured.versions[library] = version;
  }
  PLIMSOLL_ASSIGN(measured.versions["nvrtc"], module->compiler_version());
  return measured;
}

std::string to_text(const Calibration& calibration) {
  std::string text = fmt::format(
      "{} {} {} {} {} {} {} {} {} {}", calibration.planning_bytes,
      calibration.process_bytes, calibration.instructions,
      calibration.graph_values, calibration.device_bytes,
      calibration.copies.to_device_bytes_per_second,
      calibration.copies.to_host_bytes_per_second,
      calibration.convolutions.host_bytes,
      calibration.convolutions.device_bytes, calibration.device_shared ? 1 : 0);
  for (const auto& [library, version] : calibration.versions) {
    text += fmt::format(" {} {}", library, version);
  }
  return text + "\n";
}

Result<Calibration> calibration_from_text(const std::string& text) {
  Calibration measured;
  std::istringstream words(text);
  if (!(words >> measured.planning_bytes >> measured.process_bytes >>
        measured.instructions >> measured.graph_values >>
        measured.device_bytes >> measured.copies.to_device_bytes_per_second >>
        measured.copies.to_host_bytes_per_second >>
        measured.convolutions.host_bytes >>
        measured.convolutions.device_bytes >> measured.device_shared) ||
      measured.process_bytes <= 0 || measured.instructions <= 0) {
    return Error{ErrorCode::internal,
                 fmt::format("calibration printed \"{}\"", text)};
  }
  std::string library;
  std::string version;
  while (words >> library >> version) measured.versions[library] = version;
  return measured;
}

}  // namespace plimsoll::train
