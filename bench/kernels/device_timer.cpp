#include "kernels/device_timer.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "base/units.h"

namespace plimsoll::bench {

DeviceTimer::~DeviceTimer() {
  if (memory_ != nullptr) device_.memory().unmap(memory_, bytes_);
}

Result<DeviceTime> DeviceTimer::time(const graph::KernelQuery& query) {
  PLIMSOLL_ASSIGN(const cuda::OpCode code, catalog_.code(query));
  std::vector<std::int64_t> sizes;
  for (const auto& types : {query.inputs, query.outputs}) {
    for (const graph::TensorType& type : types) sizes.push_back(type.bytes());
  }
  sizes.push_back(code.scratch_bytes);
  std::vector<std::byte*> at(sizes.size());
  PLIMSOLL_RETURN_IF_ERROR(place(sizes, at.data()));
  const std::vector<const void*> inputs(at.begin(),
                                        at.begin() + std::ssize(query.inputs));
  const std::vector<void*> outputs(at.begin() + std::ssize(query.inputs),
                                   at.end() - 1);
  DeviceTime made{.seconds = 1e9,
                  .algorithms = {},
                  .name = code.name,
                  .scratch_bytes = code.scratch_bytes};
  std::vector<std::unique_ptr<CudaWork>> works;
  std::vector<std::function<Status()>> launches;
  for (const cuda::Stage& stage : code.stages) {
    if (const auto* function = std::get_if<cuda::Function>(&stage)) {
      const int count = static_cast<int>(at.size());
      ops::CudaCall call;
      call.function = function;
      call.inputs.resize(inputs.size());
      std::iota(call.inputs.begin(), call.inputs.end(), 0);
      call.outputs.resize(outputs.size());
      std::iota(call.outputs.begin(), call.outputs.end(),
                static_cast<int>(inputs.size()));
      call.scratch = count - 1;
      call.blocks = static_cast<int>(function->blocks);
      PLIMSOLL_ASSIGN(CudaKernel* const kernel,
                      device_.load(ops::cuda_kernel_source({call}, count)));
      std::vector<void*> pointers(at.begin(), at.end());
      pointers.resize(at.size() + cuda::kMarkPointers);
      launches.emplace_back([this, kernel, pointers, call] {
        return kernel->launch(stream_, call.blocks, pointers);
      });
      continue;
    }
    PLIMSOLL_ASSIGN(auto work, device_.prepare(stage));
    made.algorithms += fmt::format(" ({})", work->algorithm());
    CudaWork* const raw = work.get();
    works.push_back(std::move(work));
    launches.emplace_back([this, raw, &inputs, &outputs, &at] {
      return raw->launch(stream_, inputs.data(), outputs.data(), at.back());
    });
  }
  constexpr int kTimes = 10;
  const auto all = [&](int times) -> Status {
    for (int i = 0; i < times; ++i) {
      for (const auto& launch : launches) PLIMSOLL_RETURN_IF_ERROR(launch());
    }
    return {};
  };
  PLIMSOLL_RETURN_IF_ERROR(all(1));
  PLIMSOLL_ASSIGN(const auto recording,
                  device_.record(stream_, [&] { return all(kTimes); }));
  for (int round = 0; round < 3; ++round) {
    PLIMSOLL_RETURN_IF_ERROR(stream_.synchronize());
    const auto start = std::chrono::steady_clock::now();
    PLIMSOLL_RETURN_IF_ERROR(recording->launch(stream_));
    PLIMSOLL_RETURN_IF_ERROR(stream_.synchronize());
    const std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - start;
    made.seconds = std::min(made.seconds, took.count() / kTimes);
  }
  return made;
}

Status DeviceTimer::place(std::span<const std::int64_t> sizes, std::byte** at) {
  constexpr std::int64_t kGrain = 256;
  std::int64_t needed = 0;
  for (const std::int64_t size : sizes) needed += round_up(size, kGrain);
  if (needed > bytes_) {
    if (memory_ != nullptr) device_.memory().unmap(memory_, bytes_);
    bytes_ = round_up(needed, device_.memory().granularity_bytes());
    memory_ = static_cast<std::byte*>(device_.memory().map(bytes_));
    if (memory_ == nullptr) {
      bytes_ = 0;
      return Error{ErrorCode::over_budget, "no device memory"};
    }
    PLIMSOLL_RETURN_IF_ERROR(fill());
  }
  std::byte* next = memory_;
  for (const std::int64_t size : sizes) {
    *at++ = next;
    next += round_up(size, kGrain);
  }
  return {};
}

// Small numbers in every dtype: a device is faster on zeros.
Status DeviceTimer::fill() {
  std::vector<std::uint16_t> pattern(std::size_t{8} << 20);
  std::uint32_t state = 1;
  for (std::uint16_t& word : pattern) {
    state = state * 1664525 + 1013904223;
    word = static_cast<std::uint16_t>((state >> 16 & 0x80ff) | 0x3c00);
  }
  const auto size = std::ssize(pattern) * 2;
  for (std::int64_t at = 0; at < bytes_; at += size) {
    PLIMSOLL_RETURN_IF_ERROR(stream_.copy(memory_ + at, pattern.data(),
                                          std::min(size, bytes_ - at),
                                          CopyDirection::to_device));
  }
  return stream_.synchronize();
}

}  // namespace plimsoll::bench
