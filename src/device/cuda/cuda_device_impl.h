// The device behind plimsoll::CudaDevice.
#pragma once

#include <cublasLt.h>

#include <map>

#include "device/cuda/cuda_memory_source.h"
#include "device/cuda/cudnn_work.h"
#include "device/cuda/generated_kernel.h"

namespace plimsoll::cuda {

class CudaDeviceImpl final : public CudaDevice {
 public:
  // Takes the primary context, with the smallest stack, heap and printf
  // buffer: nothing of ours uses them, and the driver keeps room for all.
  static Result<std::unique_ptr<CudaDevice>> open(int ordinal,
                                                  const std::string& compiler);
  ~CudaDeviceImpl() override;

  std::string_view name() const override { return name_; }
  DeviceKind kind() const override { return DeviceKind::cuda; }
  const DeviceProfile& profile() const override { return profile_; }
  MemorySource& memory() override { return *memory_; }
  Space space() const override { return Space::device; }
  Result<std::unique_ptr<Stream>> make_stream() override;
  Result<std::unique_ptr<Event>> make_event() override;

  Result<CudaKernel*> load(const std::string& source) override;
  Result<std::unique_ptr<CudaKernel>> load_own(
      const std::string& source) override;
  void compile_ahead(std::span<const std::string> sources,
                     int at_once) override;
  Result<std::unique_ptr<CudaWork>> prepare(const Stage& stage) override;
  Result<std::unique_ptr<CudaRecording>> record(
      Stream& stream, const std::function<Status()>& work) override;
  Status pin(void* start, std::int64_t bytes) override;
  void unpin(void* start) noexcept override;
  Result<void*> seen_from_device(void* pinned) override;

 private:
  Status start(int ordinal);
  Status read_profile();
  Result<std::unique_ptr<GeneratedKernel>> compile_and_load(
      const std::string& source) const;
  // The same, by kept code if the driver takes that.
  Result<std::unique_ptr<GeneratedKernel>> make_kernel(
      const std::string& source) const;

  std::string name_;
  std::string compiler_;  // a program that compiles kernels; may be empty
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  bool driven_ = false;  // counted as open
  DeviceProfile profile_;
  std::unique_ptr<CudaMemorySource> memory_;
  // By two hashes of the source, which is long.
  std::map<std::pair<std::uint64_t, std::uint64_t>,
           std::unique_ptr<GeneratedKernel>>
      kernels_;
  cublasLtHandle_t products_ = nullptr;  // made when first needed
  std::unique_ptr<CudnnWork> layers_;    // likewise
};

}  // namespace plimsoll::cuda
