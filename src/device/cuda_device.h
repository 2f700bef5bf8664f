// A CUDA device as the rest of the house sees it. The implementation is in a
// module of its own, opened by open_cuda_module(): nothing else links CUDA.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/cuda_code.h"
#include "device/device.h"

namespace plimsoll {

// A kernel that is loaded: source compiled, code on the device.
class CudaKernel {
 public:
  virtual ~CudaKernel() = default;
  // On `blocks` blocks of cuda::kBlockThreads threads; the pointers are the
  // kernel's only parameters.
  virtual Status launch(Stream& stream, int blocks,
                        std::span<void* const> pointers) = 0;
};

// Work of a library, prepared: its algorithm is chosen.
class CudaWork {
 public:
  virtual ~CudaWork() = default;
  // With all inputs, outputs and the scratch of its op.
  virtual Status launch(Stream& stream, const void* const* inputs,
                        void* const* outputs, void* scratch) = 0;
  // The library's algorithm, for people.
  virtual std::string algorithm() const = 0;
};

// Work that was enqueued once and is launched as a whole.
class CudaRecording {
 public:
  virtual ~CudaRecording() = default;
  virtual Status launch(Stream& stream) = 0;
};

class CudaDevice : public Device {
 public:
  // `source` defines extern "C" __global__ void run(...) with pointers only.
  // The same source is loaded once; kernels live as long as the device.
  virtual Result<CudaKernel*> load(const std::string& source) = 0;
  // The same for an owner, with whom it goes: nothing of it may run then, and
  // the device must still be there.
  virtual Result<std::unique_ptr<CudaKernel>> load_own(
      const std::string& source) = 0;
  // Kernels that will be asked for: such as are not kept on disk are compiled,
  // so many at once by processes of their own. What fails is said by load().
  virtual void compile_ahead(std::span<const std::string> sources,
                             int at_once) = 0;
  // Of a stage that is no function. A library is opened when first needed.
  virtual Result<std::unique_ptr<CudaWork>> prepare(
      const cuda::Stage& stage) = 0;
  // What `work` enqueues on the stream, not run.
  virtual Result<std::unique_ptr<CudaRecording>> record(
      Stream& stream, const std::function<Status()>& work) = 0;
  // Fixes pages of the host where they are, so that copies from and to them
  // run without a stop. Undone before they are unmapped.
  virtual Status pin(void* start, std::int64_t bytes) = 0;
  virtual void unpin(void* start) noexcept = 0;
  // Where kernels find what lies at a pinned address.
  virtual Result<void*> seen_from_device(void* pinned) = 0;
};

// What the module offers before there is a device.
class CudaModule {
 public:
  virtual ~CudaModule() = default;
  // Code for e.g. "sm_90" from kernel source, kept in the user's cache; needs
  // no GPU. Unsupported: what uses local memory, or too much shared memory. A
  // second try takes fewer registers.
  virtual Result<std::string> compile(const std::string& source,
                                      const std::string& architecture,
                                      int tries) = 0;
  // Of the compiler of kernels, "13.0"; loads it.
  virtual Result<std::string> compiler_version() = 0;
  // Of cuDNN, "9.19.0"; loads it.
  virtual Result<std::string> layer_library_version() = 0;
  // `compiler` is a program with the command `compile-kernel`, so that the
  // compiler's memory is not this process's; empty: it is.
  virtual Result<std::unique_ptr<CudaDevice>> open(
      int ordinal, const std::string& compiler) = 0;
};

// The module, opened once. Errors say what is missing: the module, one of
// CUDA's libraries, the driver, a device.
Result<CudaModule*> open_cuda_module();
// The program `plimsoll` that lies beside the module or is installed with it:
// it can compile kernels. Empty where there is none.
std::string module_program();
// Files that decide what it costs: the module, and those of CUDA's libraries
// that it would find. Opens nothing; empty where there is no module.
std::vector<std::string> cuda_module_files();

}  // namespace plimsoll
