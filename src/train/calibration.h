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
// call runs it, later ones read the cache. An empty `calibrator` (a library in
// somebody's program) takes what this process holds now, plus what ours will
// add.
Result<DeviceProfile> cpu_profile(int threads, const std::string& calibrator);

// Trains a small network that uses every kind of kernel, and returns the bytes
// this process needed beside its planned pools. For a process of its own.
Result<std::int64_t> run_calibration(int threads);

}  // namespace plimsoll::train
