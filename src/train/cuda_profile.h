// A CUDA device as planning needs it: what is there, or what is missing.
#pragma once

#include <string>

#include "base/dtype.h"
#include "device/device_profile.h"
#include "memory/budget.h"
#include "train/library_work.h"

namespace plimsoll::train {

// Whether this build has the module that talks to CUDA.
bool has_cuda_module();

// Of a device that is here, such as "cuda:0", for jobs of this precision. The
// error names what is missing: driver, device, or the module. `calibrator` is
// as in calibration.h: it is run once, then the cache is read. Without one, or
// for a rehearsal, the figures are estimates.
struct CudaProfileRequest {
  std::string device;
  DType precision = DType::f32;
  int threads = 1;
  std::string calibrator;
  bool tf32 = false;
  bool pinned = true;
};
Result<DeviceProfile> cuda_profile(const CudaProfileRequest& request);
// Of jobs on it; empty without a calibrator.
Result<LibraryMeasure> cuda_library_measure(const CudaProfileRequest& request);
// Its memory as the driver shows it now, with the process's own limit.
Result<DeviceMemory> cuda_memory(const std::string& device);

}  // namespace plimsoll::train
