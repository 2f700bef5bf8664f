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
  struct Charges {
    KernelCharge device, host;
  };

  LoadedKernel(std::unique_ptr<CudaKernel> kernel, Stream& stream,
               Charges charges)
      : kernel_(std::move(kernel)),
        stream_(stream),
        charges_(std::move(charges)) {}
  // It may still be running.
  ~LoadedKernel() { static_cast<void>(stream_.synchronize()); }
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  CudaKernel& operator*() const { return *kernel_; }

 private:
  std::unique_ptr<CudaKernel> kernel_;
  Stream& stream_;
  Charges charges_;
};

// What one costs.
struct KernelCost {
  std::int64_t device_bytes = 0;
  std::int64_t host_bytes = 0;
};

// Kernels by what they call, each loaded once as long as it is used.
class LoadedKernels {
 public:
  LoadedKernels(CudaDevice& device, Stream& stream, Ledger& ledger,
                const KernelCost& cost)
      : device_(device),
        stream_(stream),
        cost_(cost),
        host_bytes_(std::make_shared<KernelBytes>(ledger, Space::host)) {}
  ~LoadedKernels() { host_bytes_->close(); }
  LoadedKernels(const LoadedKernels&) = delete;
  LoadedKernels& operator=(const LoadedKernels&) = delete;

  Result<std::shared_ptr<LoadedKernel>> load(
      const std::vector<ops::CudaCall>& calls, int pointers, KernelBytes& bytes,
      std::string_view asks);
  // In the name of `asks`; `bytes` are the device's.
  Result<LoadedKernel::Charges> charge(KernelBytes& bytes,
                                       std::string_view asks);
  CudaDevice& device() const { return device_; }

 private:
  // Two hashes of all that decides the source, which itself is long.
  using Key = std::pair<std::uint64_t, std::uint64_t>;
  void forget_gone();

  CudaDevice& device_;
  Stream& stream_;
  const KernelCost cost_;
  std::shared_ptr<KernelBytes> host_bytes_;
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
    LoadedKernel::Charges work_charges;
  };
  class Maker;

  std::size_t inputs_ = 0;
  std::size_t outputs_ = 0;
  bool has_scratch_ = false;
  std::vector<Part> parts_;
  std::vector<void*> pointers_;  // of the launch under way
};

}  // namespace plimsoll::runtime
