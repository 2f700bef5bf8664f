// Work of cuDNN as the module's other files see it. The library is opened by
// name when a job first asks for it. Engines are chosen once, by its own
// heuristic, within the workspace that the plan gives: such as give the same
// bits each time.
#pragma once

#include "device/cuda_device.h"

namespace plimsoll::cuda {

class CudnnWork {
 public:
  // In the context that this thread has entered.
  static Result<std::unique_ptr<CudnnWork>> open();
  virtual ~CudnnWork() = default;

  virtual Result<std::unique_ptr<CudaWork>> prepare(
      const Convolution& convolution) = 0;
  virtual Result<std::unique_ptr<CudaWork>> prepare(
      const Attention& attention) = 0;
  virtual Result<std::unique_ptr<CudaWork>> prepare(
      const Normalization& normalization) = 0;
  virtual Result<std::unique_ptr<CudaWork>> prepare(
      const AveragePoolGrad& pooling) = 0;
};

// "9.19.0"; opens the library.
Result<std::string> cudnn_version();

}  // namespace plimsoll::cuda
