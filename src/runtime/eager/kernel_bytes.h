// What kernels of eager ops hold for themselves: one line in the ledger.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

#include "memory/ledger.h"

namespace plimsoll::runtime {

class KernelBytes;

// The bytes of one kernel, taken back when it goes.
class KernelCharge {
 public:
  KernelCharge() = default;
  KernelCharge(KernelCharge&& other) noexcept
      : of_(std::move(other.of_)), bytes_(other.bytes_) {}
  KernelCharge& operator=(KernelCharge&& other) noexcept {
    std::swap(of_, other.of_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~KernelCharge();

 private:
  friend class KernelBytes;
  KernelCharge(std::shared_ptr<KernelBytes> of, std::int64_t bytes)
      : of_(std::move(of)), bytes_(bytes) {}

  std::shared_ptr<KernelBytes> of_;
  std::int64_t bytes_ = 0;
};

// Kernels may go on any thread.
class KernelBytes : public std::enable_shared_from_this<KernelBytes> {
 public:
  // The ledger must live until close().
  KernelBytes(Ledger& ledger, Space space) : ledger_(ledger), space_(space) {}

  // Over the limit: an over_budget error in the name of `asks`.
  Result<KernelCharge> charge(std::int64_t bytes, std::string_view asks);
  std::int64_t held_bytes() const;
  // Kernels that are still out there count no more.
  void close() noexcept;

 private:
  friend class KernelCharge;
  void take_back(std::int64_t bytes) noexcept;

  Ledger& ledger_;
  const Space space_;
  mutable std::mutex mutex_;
  LedgerEntry entry_;
  std::int64_t held_bytes_ = 0;
  bool open_ = false;  // has a line
  bool closed_ = false;
};

}  // namespace plimsoll::runtime
