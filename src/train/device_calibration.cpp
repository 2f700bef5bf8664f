#include "train/device_calibration.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "base/units.h"

namespace plimsoll::train {
namespace {

// A context with its libraries, by any driver that was seen and some more.
constexpr std::int64_t kLeastDeviceBytes = 64 * kMiB;
constexpr std::int64_t kMostDeviceBytes = 4 * kGiB;
// Of two runs of the same job: it takes memory in pieces of 2 MiB.
constexpr std::int64_t kMostApartBytes = 16 * kMiB;

bool is_sane(const DeviceRehearsals& of, std::string& why) {
  for (const Calibration* one :
       {&of.shallow, &of.deep, &of.spread, &of.without}) {
    if (one->device_bytes < kLeastDeviceBytes ||
        one->device_bytes > kMostDeviceBytes) {
      why = fmt::format("the driver seemed to hold {} bytes for a small job",
                        one->device_bytes);
      return false;
    }
  }
  why = fmt::format("two runs of one job were {} apart",
                    format_bytes(of.apart_bytes));
  return of.apart_bytes <= kMostApartBytes;
}

// Each rehearsal is at or under the line. The driver takes whole granules:
// one more than was seen may have been nearly full.
void set_device_line(const DeviceRehearsals& of, DeviceProfile& profile) {
  std::int64_t slope = 0;
  for (const Calibration* larger : {&of.deep, &of.spread}) {
    const std::int64_t run = std::max<std::int64_t>(
        larger->instructions - of.shallow.instructions, 1);
    const std::int64_t rise = std::max<std::int64_t>(
        larger->device_bytes - of.shallow.device_bytes, 0);
    slope = std::max(slope, (rise + profile.granularity_bytes + run - 1) / run);
  }
  profile.device_instruction_bytes = slope;
  const std::int64_t convolutions = of.shallow.convolutions.device_bytes;
  profile.device_convolution_bytes =
      convolutions > 0 ? convolutions + profile.granularity_bytes : 0;
  profile.runtime_floor_bytes = 0;
  for (const Calibration* one :
       {&of.shallow, &of.deep, &of.spread, &of.without}) {
    profile.runtime_floor_bytes =
        std::max(profile.runtime_floor_bytes,
                 one->device_bytes - slope * one->instructions);
  }
}

// The same of the host. Layers that are each another have kernels of their own,
// as those of networks do; alike ones share them.
void set_host_line(const DeviceRehearsals& of, DeviceProfile& profile) {
  profile.instruction_bytes = 0;
  for (const Calibration* larger : {&of.deep, &of.spread}) {
    std::int64_t floor = 0;
    std::int64_t slope = 0;
    Slope(of.shallow, *larger)
        .set(of.shallow.process_bytes, larger->process_bytes, floor, slope);
    profile.instruction_bytes = std::max(profile.instruction_bytes, slope);
  }
  profile.host_floor_bytes = 0;
  for (const Calibration* one : {&of.shallow, &of.deep, &of.spread}) {
    profile.host_floor_bytes = std::max(
        profile.host_floor_bytes,
        one->process_bytes - profile.instruction_bytes * one->instructions);
  }
}

}  // namespace

void set_figures(const DeviceRehearsals& of, DeviceProfile& profile) {
  set_host_line(of, profile);
  profile.host_product_bytes = std::max<std::int64_t>(
      of.shallow.process_bytes - of.without.process_bytes, 0);
  profile.host_floor_bytes -= profile.host_product_bytes;
  profile.host_convolution_bytes = of.shallow.convolutions.host_bytes;
  profile.copy_to_device_bytes_per_second =
      of.deep.copies.to_device_bytes_per_second;
  profile.copy_to_host_bytes_per_second =
      of.deep.copies.to_host_bytes_per_second;
  for (const auto& [library, version] : of.shallow.versions) {
    profile.library_versions[library] = version;
  }
  profile.measured = true;
  std::string why;
  if (!is_sane(of, why)) {
    profile.note = fmt::format(
        "the device was measured, but {}: what its driver takes is an estimate "
        "until it can be measured on an idle GPU",
        why);
  } else {
    set_device_line(of, profile);
    const bool shared = of.shallow.device_shared || of.deep.device_shared ||
                        of.spread.device_shared || of.without.device_shared;
    if (shared) {
      profile.note =
          "other processes use the GPU, and its driver does not tell what each "
          "of them holds: it is measured again for each plan until it is idle";
    }
  }
  if (!profile.note.empty()) profile.measured = false;
}

Status calibrate_device(const std::string& calibrator, Rehearsal rehearsal,
                        DeviceProfile& profile) {
  DeviceRehearsals made;
  const auto measure = [&](Calibration& second) -> Status {
    // The first run compiles kernels, which later ones find: its figures for
    // the host are not theirs.
    PLIMSOLL_ASSIGN(const Calibration first, rehearse(calibrator, rehearsal));
    PLIMSOLL_ASSIGN(second, rehearse(calibrator, rehearsal));
    made.apart_bytes = std::max(
        made.apart_bytes, std::abs(second.device_bytes - first.device_bytes));
    return {};
  };
  PLIMSOLL_RETURN_IF_ERROR(measure(made.shallow));
  rehearsal.more_layers = kMoreLayers;
  PLIMSOLL_RETURN_IF_ERROR(measure(made.deep));
  rehearsal.more_layers = kSpreadLayers;
  rehearsal.spread = true;
  PLIMSOLL_RETURN_IF_ERROR(measure(made.spread));
  rehearsal.more_layers = 0;
  rehearsal.products = false;
  PLIMSOLL_RETURN_IF_ERROR(measure(made.without));
  set_figures(made, profile);
  return {};
}

}  // namespace plimsoll::train
