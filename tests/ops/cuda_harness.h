// Op records on a CUDA device, as the CPU's harness runs them: each buffer its
// own mapping, with the end of the buffer at the end of the mapping.
#pragma once

#include "device/cuda_device.h"
#include "ops/cuda_kernels.h"
#include "ops/harness.h"

namespace plimsoll::ops::testing {

// Source of one function alone: inputs, outputs, numbers and scratch are its
// pointers, in this order.
std::string kernel_of(const cuda::Function& function, std::size_t inputs,
                      std::size_t outputs, bool scratch);
// Of all functions of a case: they can be compiled before it is checked.
std::vector<std::string> kernels_of(const Case& test,
                                    const CudaCatalog& catalog);

class CudaHarness {
 public:
  CudaHarness(CudaDevice& device, Stream& stream)
      : device_(device), stream_(stream) {}
  ~CudaHarness();

  Mistakes check(const Case& test, const CudaCatalog& catalog);

 private:
  // A device buffer of its own; `number` tells those of one op apart.
  struct Mapping {
    std::byte* start = nullptr;
    std::int64_t bytes = 0;
  };
  std::byte* buffer(std::size_t number, std::int64_t bytes, int poison);
  Run run(const Case& test, const cuda::OpCode& code, const Sharing& sharing,
          int poison);
  Status launch(const cuda::OpCode& code, const std::vector<void*>& inputs,
                const std::vector<void*>& outputs, void* scratch);
  Bytes read(const std::byte* from, std::int64_t bytes);
  bool intact(std::size_t number, std::int64_t bytes, int poison);

  CudaDevice& device_;
  Stream& stream_;
  std::vector<Mapping> mappings_;
};

}  // namespace plimsoll::ops::testing
