#include "train/copy_rates.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>

#include "base/units.h"
#include "device/cpu/host_memory_source.h"

namespace plimsoll::train {
namespace {

constexpr std::int64_t kBytes = 64 * kMiB;

// Given back, mapped or pinned, when it goes.
using Mapped = std::unique_ptr<void, std::function<void(void*)>>;

Result<Mapped> map(MemorySource& source) {
  void* start = source.map(kBytes);
  if (start == nullptr) {
    return Error{ErrorCode::over_budget,
                 "no 64 MiB to measure the rate of copies with"};
  }
  return Mapped(start, [&source](void* p) { source.unmap(p, kBytes); });
}

Result<double> rate(Stream& stream, void* to, const void* from,
                    CopyDirection direction) {
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    const auto start = std::chrono::steady_clock::now();
    PLIMSOLL_RETURN_IF_ERROR(stream.copy(to, from, kBytes, direction));
    PLIMSOLL_RETURN_IF_ERROR(stream.synchronize());
    const std::chrono::duration<double> taken =
        std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(kBytes) / taken.count());
  }
  return best;
}

}  // namespace

Result<CopyRates> measure_copies(CudaDevice& device) {
  HostMemorySource host;
  PLIMSOLL_ASSIGN(const Mapped here, map(host));
  PLIMSOLL_ASSIGN(const Mapped there, map(device.memory()));
  PLIMSOLL_RETURN_IF_ERROR(device.pin(here.get(), kBytes));
  const Mapped pinned(here.get(), [&device](void* p) { device.unpin(p); });
  PLIMSOLL_ASSIGN(const auto stream, device.make_stream());
  CopyRates rates;
  PLIMSOLL_ASSIGN(
      rates.to_device_bytes_per_second,
      rate(*stream, there.get(), here.get(), CopyDirection::to_device));
  PLIMSOLL_ASSIGN(
      rates.to_host_bytes_per_second,
      rate(*stream, here.get(), there.get(), CopyDirection::to_host));
  return rates;
}

}  // namespace plimsoll::train
