// A job's steps on a CUDA device: batches go up on one stream while another
// computes; each program is recorded once for every input slot of the device.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "data/feeder.h"
#include "ops/cuda_kernels.h"
#include "runtime/cuda_program.h"
#include "train/job_memory.h"
#include "train/planned_job.h"
#include "train/sample_ring.h"

namespace plimsoll::train {

using runtime::kPlantVariable;

class CudaJob {
 public:
  // Loads every kernel of every program and launches each once. `programs`
  // are placed in `memory`; all of these must outlive the job.
  static Result<std::unique_ptr<CudaJob>> open(
      const PlannedJob& planned, const JobData& data, Machine& machine,
      JobMemory& memory,
      std::span<const std::unique_ptr<runtime::Program>> programs);
  ~CudaJob();

  // Enqueues the copy of the batch and the program's launches; what runs on the
  // host waits for the device, and has run when this returns. The feeder gets
  // its slot back once the copy is done, now or in a later call.
  Status step(int program, const Feed& feed, const data::Batch& batch,
              data::BatchFeeder& feeder);
  // Enqueues a program that reads no batch, behind the steps before.
  Status update(int program);
  // Waits for all that was enqueued; its errors come out here.
  Status finish();

  // The states that sample() asks for, 8 bytes each, in this order.
  void set_samples(std::span<const std::int64_t> offsets);
  // Asks for them without waiting: the sums of `position` examples.
  Status sample(std::int64_t position);
  // The newest that have arrived.
  Sample sampled();
  // After finish(): what was asked for counts no more.
  void drop_samples() { samples_.drop(); }

 private:
  struct Slot {
    std::unique_ptr<Event> copied;        // up, from the feeder's slot
    std::unique_ptr<Event> done;          // with the step that reads it
    data::BatchFeeder* feeder = nullptr;  // whose slot is being copied
    int feeder_slot = -1;
  };

  // A run of a program's launches at one place.
  struct Part {
    std::size_t first = 0;  // of the program's launches
    std::size_t last = 0;   // after the last of them
    bool on_host = false;
    std::unique_ptr<runtime::CudaProgram> launches;  // null: on the host
    std::uint32_t first_mark = 0;  // the number of its first launch
    std::vector<std::unique_ptr<CudaRecording>> recordings;  // by slot
    std::unique_ptr<CudaRecording> faulty;  // for tests; else null
  };

  CudaJob(const PlannedJob& planned, const JobData& data, CudaDevice& device,
          JobMemory& memory,
          std::span<const std::unique_ptr<runtime::Program>> programs)
      : planned_(planned),
        data_(data),
        device_(device),
        memory_(memory),
        programs_(programs) {}

  Status make_streams();
  Status warm_driver();
  Status prepare(Machine& machine);
  static std::vector<Part> split(const runtime::Program& program);
  Status record(Part& part, runtime::Program& program, Stage stage);
  Status run_on_host(const Part& part, runtime::Program& program);
  // The batch that what runs at `place` reads.
  void bind(runtime::Program& program, Stage stage, const std::byte* batch,
            graph::Place place) const;
  std::byte* input_slot(std::size_t slot) const;
  Stage stage_of(int program) const;
  Status run(int program, std::size_t slot, const std::byte* batch);
  Status release_oldest();
  Status enqueue(int program, const Feed& feed, const data::Batch& batch,
                 data::BatchFeeder& feeder);
  Status make_mark(Machine& machine);
  // An error of the device, with the ops that had begun when it came up.
  Status blame(Status status) const;
  static std::string ops_from(const std::vector<Part>& parts,
                              std::uint32_t mark);
  Status plant_fault();

  const PlannedJob& planned_;
  const JobData& data_;
  CudaDevice& device_;
  JobMemory& memory_;
  std::unique_ptr<Stream> compute_, upload_;
  std::vector<Slot> slots_;
  // The number of the last launch that began, pinned; null: not told.
  std::uint32_t* mark_ = nullptr;
  void* mark_on_device_ = nullptr;
  std::span<const std::unique_ptr<runtime::Program>> programs_;
  std::vector<std::vector<Part>> parts_;  // by program, in order of execution
  std::uint64_t steps_ = 0;     // each on the slot after the last one's
  std::uint64_t released_ = 0;  // of these: the feeder has its slot back

  std::array<std::unique_ptr<Event>, SampleRing::kSlots> arrived_;
  std::vector<std::int64_t> sample_offsets_;
  SampleRing samples_;
};

}  // namespace plimsoll::train
