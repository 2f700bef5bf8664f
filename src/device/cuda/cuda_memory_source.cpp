#include "device/cuda/cuda_memory_source.h"

#include <algorithm>
#include <memory>

#include "base/units.h"
#include "device/cuda/driver.h"

namespace plimsoll::cuda {
namespace {

// Pieces are handles of the driver: small ones give back exactly, many are
// slow. An arena of up to 4 GiB is exact to the granularity.
std::int64_t piece_bytes(std::int64_t bytes, std::int64_t granularity) {
  constexpr std::int64_t kMostPieces = 2048;
  return round_up((bytes + kMostPieces - 1) / kMostPieces, granularity);
}

std::size_t size(std::int64_t bytes) { return static_cast<std::size_t>(bytes); }

}  // namespace

Result<std::unique_ptr<CudaMemorySource>> CudaMemorySource::create(
    CUdevice device) {
  std::unique_ptr<CudaMemorySource> source(new CudaMemorySource(device));
  const CUmemAllocationProp wanted = source->properties();
  std::size_t granularity = 0;
  PLIMSOLL_RETURN_IF_ERROR(PLIMSOLL_CUDA(cuMemGetAllocationGranularity,
                                         &granularity, &wanted,
                                         CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  source->granularity_ = static_cast<std::int64_t>(granularity);
  return source;
}

CudaMemorySource::~CudaMemorySource() {
  while (!ranges_.empty()) {
    const auto& [start, range] = *ranges_.begin();
    unmap(reinterpret_cast<void*>(start), range.reserved);
  }
}

CUmemAllocationProp CudaMemorySource::properties() const {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.location.id = device_;
  return wanted;
}

Status CudaMemorySource::map_piece(CUdeviceptr at, std::int64_t bytes) {
  const CUmemAllocationProp wanted = properties();
  CUmemGenericAllocationHandle handle{};
  PLIMSOLL_RETURN_IF_ERROR(
      PLIMSOLL_CUDA(cuMemCreate, &handle, size(bytes), &wanted, 0));
  const Status mapped = PLIMSOLL_CUDA(cuMemMap, at, size(bytes), 0, handle, 0);
  // The mapping keeps the memory.
  static_cast<void>(PLIMSOLL_CUDA(cuMemRelease, handle));
  PLIMSOLL_RETURN_IF_ERROR(mapped);
  mapped_ += bytes;
  peak_ = std::max(peak_, mapped_);
  return {};
}

Status CudaMemorySource::allow_access(CUdeviceptr start, std::int64_t bytes) {
  CUmemAccessDesc access{};
  access.location = properties().location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return PLIMSOLL_CUDA(cuMemSetAccess, start, size(bytes), &access, 1);
}

void CudaMemorySource::unmap_piece(CUdeviceptr at,
                                   std::int64_t bytes) noexcept {
  static_cast<void>(PLIMSOLL_CUDA(cuMemUnmap, at, size(bytes)));
  mapped_ -= bytes;
}

Status CudaMemorySource::fill(CUdeviceptr start, std::int64_t bytes,
                              Range& range) {
  while (range.mapped < bytes) {
    const std::int64_t piece = std::min(range.piece, bytes - range.mapped);
    PLIMSOLL_RETURN_IF_ERROR(
        map_piece(start + static_cast<CUdeviceptr>(range.mapped), piece));
    range.mapped += piece;
  }
  PLIMSOLL_RETURN_IF_ERROR(allow_access(start, bytes));
  PLIMSOLL_RETURN_IF_ERROR(
      PLIMSOLL_CUDA(cuMemsetD8Async, start, 0, size(bytes), nullptr));
  return PLIMSOLL_CUDA(cuStreamSynchronize, nullptr);
}

void* CudaMemorySource::map(std::int64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  if (bytes <= 0 || bytes % granularity_ != 0) return nullptr;
  CUdeviceptr start = 0;
  if (!PLIMSOLL_CUDA(cuMemAddressReserve, &start, size(bytes), 0, 0, 0)) {
    return nullptr;
  }
  Range range{bytes, piece_bytes(bytes, granularity_), 0};
  if (!fill(start, bytes, range)) {
    while (range.mapped > 0) drop_piece(start, range);
    static_cast<void>(PLIMSOLL_CUDA(cuMemAddressFree, start, size(bytes)));
    return nullptr;
  }
  ranges_.emplace(start, range);
  return reinterpret_cast<void*>(start);
}

void CudaMemorySource::drop_piece(CUdeviceptr start, Range& range) noexcept {
  const std::int64_t last = range.mapped % range.piece;
  const std::int64_t piece = last == 0 ? range.piece : last;
  range.mapped -= piece;
  unmap_piece(start + static_cast<CUdeviceptr>(range.mapped), piece);
}

std::int64_t CudaMemorySource::kept_bytes(const void* start,
                                          std::int64_t bytes) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = ranges_.find(reinterpret_cast<CUdeviceptr>(start));
  if (found == ranges_.end()) return bytes;
  const Range& range = found->second;
  return std::min(round_up(bytes, range.piece), range.mapped);
}

void CudaMemorySource::unmap(void* start, std::int64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  const auto at = reinterpret_cast<CUdeviceptr>(start);
  auto found = ranges_.upper_bound(at);
  if (found == ranges_.begin() || bytes <= 0) return;
  --found;
  auto& [first, range] = *found;
  const std::int64_t kept =
      round_up(static_cast<std::int64_t>(at - first), range.piece);
  while (range.mapped > kept) drop_piece(first, range);
  if (range.mapped > 0) return;
  static_cast<void>(
      PLIMSOLL_CUDA(cuMemAddressFree, first, size(range.reserved)));
  ranges_.erase(found);
}

void* CudaMemorySource::reserve(std::int64_t bytes) noexcept {
  if (bytes <= 0 || bytes % granularity_ != 0) return nullptr;
  CUdeviceptr start = 0;
  if (!PLIMSOLL_CUDA(cuMemAddressReserve, &start, size(bytes), 0, 0, 0)) {
    return nullptr;
  }
  return reinterpret_cast<void*>(start);
}

void CudaMemorySource::unreserve(void* start, std::int64_t bytes) noexcept {
  if (start == nullptr) return;
  static_cast<void>(PLIMSOLL_CUDA(
      cuMemAddressFree, reinterpret_cast<CUdeviceptr>(start), size(bytes)));
}

// A handle for each granule, since a mapping is only taken away as a whole.
bool CudaMemorySource::commit(void* start, std::int64_t bytes) noexcept {
  if (bytes <= 0 || bytes % granularity_ != 0) return false;
  const std::lock_guard lock(mutex_);
  const auto first = reinterpret_cast<CUdeviceptr>(start);
  const auto end = first + static_cast<CUdeviceptr>(bytes);
  const auto granule = static_cast<CUdeviceptr>(granularity_);
  CUdeviceptr at = first;
  while (at < end && map_piece(at, granularity_)) at += granule;
  if (at == end && allow_access(first, bytes)) return true;
  while (at > first) unmap_piece(at -= granule, granularity_);
  return false;
}

void CudaMemorySource::decommit(void* start, std::int64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  const auto first = reinterpret_cast<CUdeviceptr>(start);
  for (std::int64_t at = 0; at < bytes; at += granularity_) {
    unmap_piece(first + static_cast<CUdeviceptr>(at), granularity_);
  }
}

std::int64_t CudaMemorySource::mapped_bytes() const noexcept {
  const std::lock_guard lock(mutex_);
  return mapped_;
}

std::int64_t CudaMemorySource::peak_mapped_bytes() const noexcept {
  const std::lock_guard lock(mutex_);
  return peak_;
}

}  // namespace plimsoll::cuda
