// Eager ops on a CUDA device: launches in the order of one stream, so that
// memory that was given back can be reused at once.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "device/cuda_device.h"
#include "ops/cuda_kernels.h"
#include "runtime/eager/backend.h"

namespace plimsoll::runtime {

struct OpenedDevice {
  CudaDevice* device = nullptr;
  // What process and context take now that it is open, as far as it is known.
  std::vector<Holding> measured;
};

// What a session lends to its tensors; all of it outlives close().
struct CudaMachine {
  // Takes the context; called by the first value, again after an error.
  std::function<Result<OpenedDevice>()> open;
  // What process and context will take: charged before the device is opened.
  std::vector<Holding> expected;
  const DeviceProfile& profile;
  std::int64_t host_kernel_bytes = 0;  // what each kernel costs there
  MemorySource& host;                  // of the numbers on their way
  Ledger& ledger;
};

std::unique_ptr<Backend> make_cuda_backend(CudaMachine machine);

}  // namespace plimsoll::runtime
