#include "runtime/eager/kernel_bytes.h"

namespace plimsoll::runtime {

KernelCharge::~KernelCharge() {
  if (of_) of_->take_back(bytes_);
}

Result<KernelCharge> KernelBytes::charge(std::int64_t bytes,
                                         std::string_view asks) {
  if (bytes == 0) return KernelCharge();
  const std::lock_guard lock(mutex_);
  if (closed_) return KernelCharge();
  if (!open_) {
    PLIMSOLL_ASSIGN(entry_,
                    ledger_.charge({"kernels", Purpose::runtime, space_, 0}));
    open_ = true;
  }
  PLIMSOLL_RETURN_IF_ERROR(entry_.resize(held_bytes_ + bytes, asks));
  held_bytes_ += bytes;
  return KernelCharge(shared_from_this(), bytes);
}

std::int64_t KernelBytes::held_bytes() const {
  const std::lock_guard lock(mutex_);
  return held_bytes_;
}

void KernelBytes::close() noexcept {
  const std::lock_guard lock(mutex_);
  entry_.release();
  held_bytes_ = 0;
  closed_ = true;
}

void KernelBytes::take_back(std::int64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  held_bytes_ -= bytes;
  // Shrinking, which no limit refuses.
  static_cast<void>(entry_.resize(held_bytes_, "kernels"));
}

}  // namespace plimsoll::runtime
