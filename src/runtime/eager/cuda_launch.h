// Eager ops on a CUDA device: the parts of one op, and kernels that ops share.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda_device.h"
#include "ops/cuda_kernels.h"
#include "runtime/eager/backend.h"

namespace plimsoll::runtime {

// On the device while somebody has it.
class LoadedKernel {
 public:
  LoadedKernel(std::unique_ptr<CudaKernel> kernel, Stream& stream,
               KernelCharge charge)
      : kernel_(std::move(kernel)),
        stream_(stream),
        charge_(std::move(charge)) {}
  // It may still be running.
  ~LoadedKernel() { static_cast<void>(stream_.synchronize()); }
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  CudaKernel& operator*() const { return *kernel_; }

 private:
  std::unique_ptr<CudaKernel> kernel_;
  Stream& stream_;
  KernelCharge charge_;
};

// Kernels by what they call, each loaded once as long as it is used.
class LoadedKernels {
 public:
  // `kernel_bytes`: what one costs on the device.
  LoadedKernels(CudaDevice& device, Stream& stream, std::int64_t kernel_bytes)
      : device_(device), stream_(stream), kernel_bytes_(kernel_bytes) {}

  Result<std::shared_ptr<LoadedKernel>> load(
      const std::vector<ops::CudaCall>& calls, int pointers, KernelBytes& bytes,
      std::string_view asks);
  CudaDevice& device() const { return device_; }
  std::int64_t kernel_bytes() const { return kernel_bytes_; }

 private:
  // Two hashes of all that decides the source, which itself is long.
  using Key = std::pair<std::uint64_t, std::uint64_t>;
  void forget_gone();

  CudaDevice& device_;
  Stream& stream_;
  const std::int64_t kernel_bytes_;
  std::map<Key, std::weak_ptr<LoadedKernel>> loaded_;
  std::size_t looks_after_ = 1024;  // at so many, those that are gone go
};

// The stages of one op, put together where that saves launches.
class CudaParts {
 public:
  static Result<CudaParts> make(const graph::KernelQuery& query,
                                const cuda::OpCode& code,
                                LoadedKernels& kernels, KernelBytes& bytes);

  // Where kernels say that they start.
  struct Mark {
    void* word = nullptr;
    std::uint32_t number = 0;
  };
  std::size_t size() const { return parts_.size(); }
  bool says_when_it_starts(std::size_t part) const {
    return parts_[part].kernel != nullptr;
  }
  Status launch(std::size_t part, Stream& stream, const ops::LaunchArgs& args,
                const Mark& mark);

 private:
  struct Part {
    std::shared_ptr<LoadedKernel> kernel;
    int blocks = 1;
    std::vector<void*> numbers;  // behind the op's own pointers
    std::unique_ptr<CudaWork> work;
    KernelCharge work_charge;
  };
  class Maker;

  std::size_t inputs_ = 0;
  std::size_t outputs_ = 0;
  bool has_scratch_ = false;
  std::vector<Part> parts_;
  std::vector<void*> pointers_;  // of the launch under way
};

}  // namespace plimsoll::runtime
