// Device memory through CUDA's virtual memory calls: one reserved range of
// addresses, physical memory mapped into it in pieces that go back singly.
#pragma once

#include <cuda.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "plimsoll/memory_source.h"

namespace plimsoll::cuda {

class CudaMemorySource final : public MemorySource {
 public:
  // Of the device whose context was set.
  static Result<std::unique_ptr<CudaMemorySource>> create(CUdevice device);
  ~CudaMemorySource() override;

  std::int64_t granularity_bytes() const override { return granularity_; }
  void* map(std::int64_t bytes) noexcept override;
  // Above 4 GiB pieces are larger than the granularity.
  std::int64_t kept_bytes(const void* start,
                          std::int64_t bytes) const noexcept override;
  // From the end of a mapping, or all of it. A piece that is only partly
  // given back stays until its mapping goes.
  void unmap(void* start, std::int64_t bytes) noexcept override;
  void* reserve(std::int64_t bytes) noexcept override;
  void unreserve(void* start, std::int64_t bytes) noexcept override;
  bool commit(void* start, std::int64_t bytes) noexcept override;
  void decommit(void* start, std::int64_t bytes) noexcept override;
  std::int64_t mapped_bytes() const noexcept override;
  std::int64_t peak_mapped_bytes() const noexcept override;

 private:
  struct Range {
    std::int64_t reserved = 0;
    std::int64_t piece = 0;   // bytes of each piece but the last
    std::int64_t mapped = 0;  // from the start
  };

  explicit CudaMemorySource(CUdevice device) : device_(device) {}
  CUmemAllocationProp properties() const;
  // Fresh memory at `at`, not yet to be used by anybody.
  Status map_piece(CUdeviceptr at, std::int64_t bytes);
  Status allow_access(CUdeviceptr start, std::int64_t bytes);
  void unmap_piece(CUdeviceptr at, std::int64_t bytes) noexcept;
  Status fill(CUdeviceptr start, std::int64_t bytes, Range& range);
  // The last piece of the range.
  void drop_piece(CUdeviceptr start, Range& range) noexcept;

  CUdevice device_;
  std::int64_t granularity_ = 0;
  mutable std::mutex mutex_;
  std::map<CUdeviceptr, Range> ranges_;
  std::int64_t mapped_ = 0;
  std::int64_t peak_ = 0;
};

}  // namespace plimsoll::cuda
