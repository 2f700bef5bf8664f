// Fixed memory of the host that numbers of eager values pass on their way to a
// CUDA device and back, and the word in which launches say that they start.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "device/cuda_device.h"
#include "memory/ledger.h"
#include "runtime/eager/backend.h"

namespace plimsoll::runtime {

// Two halves: while the device reads one, the other is filled.
class CudaStaging {
 public:
  static constexpr std::int64_t kHalfBytes = 512 * 1024;

  // All of these must outlive it, and the stream must have run before it goes.
  static Result<std::unique_ptr<CudaStaging>> make(CudaDevice& device,
                                                   Stream& stream,
                                                   MemorySource& host,
                                                   Ledger& ledger);
  ~CudaStaging();

  // Enqueued when it returns; the bytes may then change.
  Status upload(std::byte* to, std::int64_t bytes, const Fill& fill);
  // Waits for all that was enqueued before.
  Status download(std::span<std::byte> to, const std::byte* from);

  // What the last launch that began has written there; 0: none.
  std::uint32_t mark() const;
  void* mark_on_device() const { return mark_on_device_; }

 private:
  struct Half {
    std::byte* start = nullptr;
    std::unique_ptr<Event> done;  // all copies from and to it
  };

  CudaStaging(CudaDevice& device, Stream& stream, MemorySource& host)
      : device_(device), stream_(stream), host_(host) {}
  Status open(Ledger& ledger);
  // The other half, once nothing uses it any more.
  Status turn();

  CudaDevice& device_;
  Stream& stream_;
  MemorySource& host_;
  LedgerEntry entry_;
  std::byte* start_ = nullptr;
  std::int64_t bytes_ = 0;
  bool pinned_ = false;
  std::array<Half, 2> halves_;
  std::size_t current_ = 0;
  std::int64_t used_bytes_ = 0;  // of the current half
  volatile std::uint32_t* mark_ = nullptr;
  void* mark_on_device_ = nullptr;
};

}  // namespace plimsoll::runtime
