// What a device's driver and the process that drives it cost, by rehearsals in
// processes of their own.
#pragma once

#include "train/calibration.h"

namespace plimsoll::train {

// One of each kind.
struct DeviceRehearsals {
  Calibration shallow;
  Calibration deep;     // many narrow layers: few launches that do much each
  Calibration spread;   // wide layers, all different: a launch for each op
  Calibration without;  // the library of products
  // The most that two runs of one kind were apart on the device.
  std::int64_t apart_bytes = 0;
};

// Figures that cannot be right, or that others on the GPU are part of, leave a
// note in the profile, which is then no measured one: the device's own are
// not believed in the first case and stay as they were.
void set_figures(const DeviceRehearsals& rehearsals, DeviceProfile& profile);

// Runs them and sets the figures.
Status calibrate_device(const std::string& calibrator, Rehearsal rehearsal,
                        DeviceProfile& profile);

}  // namespace plimsoll::train
