#include "runtime/eager/cuda_staging.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/units.h"

namespace plimsoll::runtime {
namespace {

constexpr std::int64_t kLineBytes = 64;

}  // namespace

Result<std::unique_ptr<CudaStaging>> CudaStaging::make(CudaDevice& device,
                                                       Stream& stream,
                                                       MemorySource& host,
                                                       Ledger& ledger) {
  std::unique_ptr<CudaStaging> made(new CudaStaging(device, stream, host));
  PLIMSOLL_RETURN_IF_ERROR(made->open(ledger));
  return made;
}

Status CudaStaging::open(Ledger& ledger) {
  const std::int64_t bytes =
      round_up(2 * kHalfBytes + kLineBytes, host_.granularity_bytes());
  PLIMSOLL_ASSIGN(
      entry_, ledger.charge({"eager", Purpose::staging, Space::pinned, bytes}));
  void* const start = host_.map(bytes);
  if (start == nullptr) {
    return Error{ErrorCode::over_budget,
                 fmt::format("the system refused {} of memory for copies to "
                             "the device",
                             format_bytes(bytes))};
  }
  start_ = static_cast<std::byte*>(start);
  bytes_ = bytes;
  PLIMSOLL_RETURN_IF_ERROR(device_.pin(start_, bytes_));
  pinned_ = true;
  std::byte* at = start_;
  for (Half& half : halves_) {
    half.start = at;
    at += kHalfBytes;
    PLIMSOLL_ASSIGN(half.done, device_.make_event());
  }
  mark_ = reinterpret_cast<volatile std::uint32_t*>(at);
  *mark_ = 0;
  PLIMSOLL_ASSIGN(mark_on_device_, device_.seen_from_device(at));
  return {};
}

CudaStaging::~CudaStaging() {
  if (pinned_) device_.unpin(start_);
  if (start_ != nullptr) host_.unmap(start_, bytes_);
}

Status CudaStaging::turn() {
  PLIMSOLL_RETURN_IF_ERROR(stream_.record(*halves_[current_].done));
  current_ = 1 - current_;
  used_bytes_ = 0;
  return halves_[current_].done->synchronize();
}

Status CudaStaging::upload(std::byte* to, std::int64_t bytes,
                           const Fill& fill) {
  for (std::int64_t offset = 0; offset < bytes;) {
    // Small values lie behind each other; a large one begins anew.
    if (used_bytes_ > 0 && used_bytes_ + bytes - offset > kHalfBytes) {
      PLIMSOLL_RETURN_IF_ERROR(turn());
    }
    const std::int64_t piece = std::min(bytes - offset, kHalfBytes);
    std::byte* const from = halves_[current_].start + used_bytes_;
    fill({from, static_cast<std::size_t>(piece)}, offset);
    PLIMSOLL_RETURN_IF_ERROR(
        stream_.copy(to + offset, from, piece, CopyDirection::to_device));
    used_bytes_ += round_up(piece, kLineBytes);
    offset += piece;
  }
  return {};
}

Status CudaStaging::download(std::span<std::byte> to, const std::byte* from) {
  const auto bytes = static_cast<std::int64_t>(to.size());
  const auto size_at = [&](std::int64_t offset) {
    return std::min(bytes - offset, kHalfBytes);
  };
  // The copy of a piece runs while the one before is taken out.
  std::int64_t before = -1;
  for (std::int64_t offset = 0; offset < bytes; offset += kHalfBytes) {
    PLIMSOLL_RETURN_IF_ERROR(turn());
    PLIMSOLL_RETURN_IF_ERROR(stream_.copy(halves_[current_].start,
                                          from + offset, size_at(offset),
                                          CopyDirection::to_host));
    PLIMSOLL_RETURN_IF_ERROR(stream_.record(*halves_[current_].done));
    if (before >= 0) {
      Half& half = halves_[1 - current_];
      PLIMSOLL_RETURN_IF_ERROR(half.done->synchronize());
      std::memcpy(to.data() + before, half.start,
                  static_cast<std::size_t>(size_at(before)));
    }
    before = offset;
  }
  PLIMSOLL_RETURN_IF_ERROR(stream_.synchronize());
  if (before >= 0) {
    std::memcpy(to.data() + before, halves_[current_].start,
                static_cast<std::size_t>(size_at(before)));
  }
  used_bytes_ = 0;
  return {};
}

std::uint32_t CudaStaging::mark() const { return *mark_; }

}  // namespace plimsoll::runtime
