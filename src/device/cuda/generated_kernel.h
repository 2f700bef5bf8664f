// A kernel from source, loaded onto the device.
#pragma once

#include <cuda.h>

#include "device/cuda_device.h"

namespace plimsoll::cuda {

class GeneratedKernel final : public CudaKernel {
 public:
  // Refuses code that uses local memory, should the compiler not have said so:
  // the driver would take hundreds of MiB for it, and keep them.
  static Result<std::unique_ptr<GeneratedKernel>> load(const std::string& code);
  ~GeneratedKernel() override;

  Status launch(Stream& stream, int blocks,
                std::span<void* const> pointers) override;

 private:
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

}  // namespace plimsoll::cuda
