// What the process itself costs: measured once by running a small job in a
// fresh process, then read from the user's cache.
#pragma once

#include <string>

#include "device/device_profile.h"

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

struct Calibration {
  // The most a process held while it planned.
  std::int64_t planning_bytes = 0;
  // What it held while it trained, beside its pools and its kernels' own.
  std::int64_t process_bytes = 0;
  std::int64_t instructions = 0;  // of all programs
};

// Plans and trains a small network that uses every kind of kernel, with
// `more_layers` narrow ones added. For a process of its own.
Result<Calibration> run_calibration(int threads, int more_layers);

// The command's output.
std::string to_text(const Calibration& calibration);

}  // namespace plimsoll::train
