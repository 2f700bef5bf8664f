// What the process itself costs: measured once by running a small job in a
// fresh process, then read from the user's cache.
#pragma once

#include <map>
#include <string>

#include "device/device_profile.h"
#include "train/convolution_cost.h"
#include "train/copy_rates.h"

namespace plimsoll::train {

// What calibration cannot know, in every forecast: pages that the system's
// cache decides, and the heap of a larger graph.
inline constexpr std::int64_t kAllowanceBytes = 4 * 1024 * 1024;

// The CPU's profile for `threads` threads. `calibrator` is a program whose
// command `calibrate --threads N` prints run_calibration()'s text; the first
// call runs it for a shallow and for a deep network (graphs and plans are heap
// that grows with the instructions), later ones read the cache. An empty
// `calibrator` (a library in somebody's program) takes what this process holds
// now, plus what ours will add.
Result<DeviceProfile> cpu_profile(int threads, const std::string& calibrator);

// The next call measures again.
void forget_cpu_profile();

struct Calibration {
  // The most a process held while it planned.
  std::int64_t planning_bytes = 0;
  // What it held while it trained, beside its pools and its kernels' own.
  std::int64_t process_bytes = 0;
  std::int64_t instructions = 0;  // of all programs
  std::int64_t graph_values = 0;  // likewise, as PlannedJob has them
  std::int64_t device_bytes = 0;  // the driver's, beside its pools there
  CopyRates copies;               // 0 on the CPU
  LibraryCost convolutions;       // likewise
  // Others use the device, and what they hold may be in device_bytes.
  bool device_shared = false;
  std::map<std::string, std::string> versions;  // of the device's libraries
};

struct Rehearsal {
  std::string device = "cpu";
  DType precision = DType::f32;
  int threads = 0;
  int more_layers = 0;        // beside those that use every kernel
  bool spread = false;        // these are wide, each another; else narrow
  bool products = true;       // that a library makes
  bool convolutions = false;  // by the CPU's, in each of its types
  bool tf32 = false;          // as the job file has them
  bool pinned = true;
  std::string compiler = {};  // as RunOptions has it
};

// Plans and trains a small network that uses every kind of kernel. For a
// process of its own.
Result<Calibration> run_calibration(const Rehearsal& rehearsal);

// The same, by the calibrator's command.
Result<Calibration> rehearse(const std::string& calibrator,
                             const Rehearsal& rehearsal);
// Enough layers to tell a slope from the noise of a page here and there; of
// those that are spread, each kernel has to be compiled.
inline constexpr int kMoreLayers = 60;
inline constexpr int kSpreadLayers = 16;

// The line through the shallow and the deep network's figures.
struct Slope {
  Slope(const Calibration& shallow, const Calibration& deep,
        std::int64_t Calibration::*by = &Calibration::instructions);
  void set(std::int64_t at_low, std::int64_t at_high, std::int64_t& floor,
           std::int64_t& slope) const;
  std::int64_t low;
  std::int64_t run;
};

// The command's output.
std::string to_text(const Calibration& calibration);
Result<Calibration> calibration_from_text(const std::string& text);

}  // namespace plimsoll::train
