// A job's memory, committed: the arena its programs run in (states, transient
// buffers), on the device where the job has one, and the host's side of it.
// The host reaches states through here, wherever they lie.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "device/cuda_device.h"
#include "memory/arena.h"
#include "plan/job_plan.h"
#include "train/machine.h"

namespace plimsoll::train {

class JobMemory {
 public:
  JobMemory() = default;
  JobMemory(JobMemory&& other) noexcept;
  JobMemory& operator=(JobMemory&& other) noexcept;
  ~JobMemory();

  static Result<JobMemory> commit(const plan::JobPlan& plan, Machine& machine);
  // The host's side alone, for what a model keeps.
  static Result<JobMemory> on_host(std::int64_t bytes, Machine& machine);

  // Offsets are the arena's. A device's pointers are not for the host.
  std::byte* programs() const { return programs_.data(); }
  std::int64_t program_bytes() const { return programs_.bytes(); }
  // The host's side of a job on a device; null on the CPU.
  std::byte* host() const { return host_.data(); }
  // Where the input's batches and buffers lie: always the host's.
  std::byte* staging() const;
  // Host memory for values that come back while the job runs.
  std::byte* values() const;

  // Waits for the copy, not for what the job has enqueued.
  Status read(std::int64_t offset, std::span<std::byte> out) const;
  Status write(std::int64_t offset, std::span<const std::byte> from);
  Status clear(std::int64_t offset, std::int64_t bytes);
  // Where the host can look at the arena itself; null on a device.
  std::byte* view(std::int64_t offset) const;
  // Room for pieces of states on their way; empty where view() serves.
  std::span<std::byte> bounce() const;

  // Gives all but the first bytes of the programs' arena and of the host's
  // side back.
  Status keep_front(std::int64_t bytes, std::int64_t host_bytes,
                    Ledger& ledger);

 private:
  void unpin() noexcept;

  Arena programs_;
  Arena host_;                   // a device's staging; empty on the CPU
  std::vector<Arena> reserved_;  // beyond needs, where growth is off
  std::int64_t staging_offset_ = 0;
  std::int64_t values_offset_ = 0;
  std::int64_t values_bytes_ = 0;
  CudaDevice* device_ = nullptr;  // null on the CPU
  std::unique_ptr<Stream> copies_;
  bool pinned_ = false;
};

}  // namespace plimsoll::train
