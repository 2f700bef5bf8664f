#include "runtime/eager/cuda_backend.h"

#include <fmt/core.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/units.h"
#include "runtime/cuda_program.h"
#include "runtime/eager/cuda_launch.h"
#include "runtime/eager/cuda_staging.h"
#include "runtime/eager/launch_history.h"

namespace plimsoll::runtime {
namespace {

// Of scratch: libraries refuse a workspace that begins elsewhere. Blocks of
// the pool begin at multiples of 64.
constexpr std::int64_t kScratchAlignment = 256;
constexpr std::int64_t kScratchGap = kScratchAlignment - 64;

// The device's memory, once it is open. What is taken away may still be in use
// by what was launched.
class StreamMemory final : public MemorySource {
 public:
  void open(MemorySource& memory, Stream& stream) {
    memory_ = &memory;
    stream_ = &stream;
  }

  std::int64_t granularity_bytes() const override {
    return memory_->granularity_bytes();
  }
  void* map(std::int64_t) noexcept override { return nullptr; }
  void unmap(void*, std::int64_t) noexcept override {}
  void* reserve(std::int64_t bytes) noexcept override {
    return memory_->reserve(bytes);
  }
  void unreserve(void* start, std::int64_t bytes) noexcept override {
    memory_->unreserve(start, bytes);
  }
  bool commit(void* start, std::int64_t bytes) noexcept override {
    return memory_->commit(start, bytes);
  }
  void decommit(void* start, std::int64_t bytes) noexcept override {
    static_cast<void>(stream_->synchronize());
    memory_->decommit(start, bytes);
  }
  std::int64_t mapped_bytes() const noexcept override {
    return memory_->mapped_bytes();
  }
  std::int64_t peak_mapped_bytes() const noexcept override {
    return memory_->peak_mapped_bytes();
  }

 private:
  MemorySource* memory_ = nullptr;
  Stream* stream_ = nullptr;
};

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(CudaMachine machine)
      : machine_(std::move(machine)),
        // Loops by hand change scalars, seeds and windows.
        catalog_(machine_.profile, {.late_numbers = true}),
        program_catalog_(machine_.profile, {}) {
    const char* const fails = std::getenv(kPlantVariable);
    if (fails != nullptr) planted_ = fails;
  }

  Status open(ProcessBytes& process) override;
  void close() noexcept override;
  MemorySource& memory() override { return memory_; }
  Space space() const override { return Space::device; }
  Result<std::unique_ptr<PreparedLaunch>> prepare(
      const graph::KernelQuery& query, KernelBytes& bytes) override;
  const graph::KernelCatalog& catalog() const override {
    return program_catalog_;
  }
  std::int64_t alignment_bytes() const override {
    return machine_.profile.alignment_bytes;
  }
  void enter(const std::function<void()>& work) override { work(); }
  Result<std::unique_ptr<MovingProgram>> prepare(
      const graph::LoweredGraph& lowered, const plan::ProgramPlan& plan,
      ProgramMemory memory, KernelBytes& bytes) override;
  Status check() override;
  Status write(std::byte* to, std::span<const std::byte> from) override;
  Status fill(std::byte* to, std::int64_t bytes, const Fill& fill) override;
  Status copy(std::byte* to, const std::byte* from,
              std::int64_t bytes) override;
  Status read(std::span<std::byte> to, const std::byte* from) override;

  Status launch(CudaParts& parts, const graph::OpDef& op,
                const ops::LaunchArgs& args);
  Result<std::unique_ptr<CudaProgram>> load(const Program& program,
                                            KernelBytes& bytes);
  Status launch(CudaProgram& program);
  void wait() noexcept {
    if (stream_) static_cast<void>(stream_->synchronize());
  }

 private:
  Status charge_libraries(const cuda::OpCode& code);
  // Where the device itself has failed, its error with the ops that may have:
  // every call from then on gives it. Others are the call's own.
  Status blamed(Status status);

  const CudaMachine machine_;
  const ops::CudaCatalog catalog_;          // of single ops
  const ops::CudaCatalog program_catalog_;  // of planned ones
  std::string planted_;  // part of the name of an op that is to fail
  ProcessBytes* process_ = nullptr;
  StreamMemory memory_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<CudaStaging> staging_;
  std::unique_ptr<LoadedKernels> kernels_;
  LaunchHistory history_;
  Status failure_;
};

class CudaLaunch final : public PreparedLaunch {
 public:
  CudaLaunch(CudaBackend& backend, const graph::OpDef& op, CudaParts parts,
             std::int64_t scratch_bytes)
      : PreparedLaunch(scratch_bytes),
        backend_(backend),
        op_(op),
        parts_(std::move(parts)) {}

  // Libraries' work may still be running.
  ~CudaLaunch() override { backend_.wait(); }

  Status launch(const ops::LaunchArgs& args) override {
    return backend_.launch(parts_, op_, args);
  }

 private:
  CudaBackend& backend_;
  const graph::OpDef& op_;
  CudaParts parts_;
};

// Kernels are loaded with the first run, when addresses tell which launches may
// run beside each other; where they lie later, that stays.
class CudaMovingProgram final : public MovingProgram {
 public:
  CudaMovingProgram(CudaBackend& backend, std::unique_ptr<Program> program,
                    KernelBytes& bytes)
      : MovingProgram(std::move(program)), backend_(backend), bytes_(bytes) {}
  ~CudaMovingProgram() override { backend_.wait(); }

  Status run() override {
    if (!launches_) {
      PLIMSOLL_ASSIGN(launches_, backend_.load(program(), bytes_));
    }
    return backend_.launch(*launches_);
  }

 private:
  CudaBackend& backend_;
  KernelBytes& bytes_;
  std::unique_ptr<CudaProgram> launches_;
};

Status CudaBackend::open(ProcessBytes& process) {
  process_ = &process;
  for (const Holding& holding : machine_.expected) {
    PLIMSOLL_RETURN_IF_ERROR(process.add(holding));
  }
  PLIMSOLL_ASSIGN(const OpenedDevice opened, machine_.open());
  for (const Holding& holding : opened.measured) {
    PLIMSOLL_RETURN_IF_ERROR(process.add(holding));
  }
  if (!stream_) {
    PLIMSOLL_ASSIGN(stream_, opened.device->make_stream());
  }
  if (!staging_) {
    PLIMSOLL_ASSIGN(staging_,
                    CudaStaging::make(*opened.device, *stream_, machine_.host,
                                      machine_.ledger));
  }
  kernels_ = std::make_unique<LoadedKernels>(
      *opened.device, *stream_, machine_.ledger,
      KernelCost{machine_.profile.device_instruction_bytes,
                 machine_.host_kernel_bytes});
  memory_.open(opened.device->memory(), *stream_);
  return {};
}

void CudaBackend::close() noexcept {
  if (stream_) static_cast<void>(stream_->synchronize());
  kernels_.reset();
  staging_.reset();
  stream_.reset();
}

// Libraries take memory when they are first used.
Status CudaBackend::charge_libraries(const cuda::OpCode& code) {
  const DeviceProfile& profile = machine_.profile;
  for (const cuda::Stage& stage : code.stages) {
    if (std::holds_alternative<cuda::Product>(stage)) {
      PLIMSOLL_RETURN_IF_ERROR(
          process_->add({"library of products", Purpose::runtime, Space::host,
                         profile.host_product_bytes}));
    } else if (std::holds_alternative<cuda::Convolution>(stage)) {
      PLIMSOLL_RETURN_IF_ERROR(
          process_->add({"library of convolutions", Purpose::runtime,
                         Space::host, profile.host_convolution_bytes}));
      PLIMSOLL_RETURN_IF_ERROR(
          process_->add({"library of convolutions", Purpose::runtime,
                         Space::device, profile.device_convolution_bytes}));
    }
  }
  return {};
}

Result<std::unique_ptr<PreparedLaunch>> CudaBackend::prepare(
    const graph::KernelQuery& query, KernelBytes& bytes) {
  PLIMSOLL_RETURN_IF_ERROR(failure_);
  PLIMSOLL_ASSIGN(const cuda::OpCode code, catalog_.code(query));
  PLIMSOLL_RETURN_IF_ERROR(charge_libraries(code));
  auto parts = CudaParts::make(query, code, *kernels_, bytes);
  if (!parts) {
    Error error = std::move(parts).error();
    // What cannot be loaded may be another op's fault.
    if (Status blame = blamed(error); !failure_) {
      return std::move(blame).error();
    }
    error.message = fmt::format("{}({}): {}", query.op->name,
                                graph::to_string(query.inputs), error.message);
    return error;
  }
  return std::unique_ptr<PreparedLaunch>(std::make_unique<CudaLaunch>(
      *this, *query.op, *std::move(parts),
      code.scratch_bytes > 0 ? code.scratch_bytes + kScratchGap : 0));
}

Status CudaBackend::launch(CudaParts& parts, const graph::OpDef& op,
                           const ops::LaunchArgs& given) {
  PLIMSOLL_RETURN_IF_ERROR(failure_);
  ops::LaunchArgs args = given;
  args.scratch = reinterpret_cast<void*>(round_up(
      reinterpret_cast<std::intptr_t>(given.scratch), kScratchAlignment));
  // Addresses that nobody has, for tests.
  std::array<void*, cuda::kMostPointers> nowhere;
  if (!planted_.empty() && op.name.find(planted_) != std::string_view::npos) {
    nowhere.fill(reinterpret_cast<void*>(std::uintptr_t{4096}));
    args.inputs = nowhere.data();
    args.outputs = nowhere.data();
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::uint32_t number = history_.add(op, parts.says_when_it_starts(i));
    auto launched =
        parts.launch(i, *stream_, args, {staging_->mark_on_device(), number});
    if (!launched) return blamed(std::move(launched));
  }
  return {};
}

Result<std::unique_ptr<MovingProgram>> CudaBackend::prepare(
    const graph::LoweredGraph& lowered, const plan::ProgramPlan& plan,
    ProgramMemory memory, KernelBytes& bytes) {
  PLIMSOLL_RETURN_IF_ERROR(failure_);
  for (const graph::Instruction& step : lowered.instructions) {
    PLIMSOLL_ASSIGN(const cuda::OpCode code, program_catalog_.code(step));
    PLIMSOLL_RETURN_IF_ERROR(charge_libraries(code));
  }
  memory.alignment_bytes = alignment_bytes();
  return std::unique_ptr<MovingProgram>(std::make_unique<CudaMovingProgram>(
      *this, Program::place(lowered, plan, std::move(memory)), bytes));
}

Result<std::unique_ptr<CudaProgram>> CudaBackend::load(const Program& program,
                                                       KernelBytes& bytes) {
  PLIMSOLL_RETURN_IF_ERROR(failure_);
  const auto load =
      [&](const std::vector<ops::CudaCall>& calls, int pointers,
          const std::string&) -> Result<std::shared_ptr<CudaKernel>> {
    PLIMSOLL_ASSIGN(auto loaded,
                    kernels_->load(calls, pointers, bytes, program.name()));
    CudaKernel* const kernel = &**loaded;
    return std::shared_ptr<CudaKernel>(std::move(loaded), kernel);
  };
  auto made =
      CudaProgram::prepare(program, program.launches(), program_catalog_,
                           kernels_->device(), CudaProgram::Mark{}, load);
  if (made) return made;
  return blamed(std::move(made).error()).error();
}

Status CudaBackend::launch(CudaProgram& program) {
  PLIMSOLL_RETURN_IF_ERROR(failure_);
  for (std::size_t i = 0; i < program.launches(); ++i) {
    const std::uint32_t number =
        history_.add(program.op_of(i), program.says_when_it_starts(i));
    auto launched = program.enqueue_launch(
        i, *stream_, {staging_->mark_on_device(), number});
    if (!launched) return blamed(std::move(launched));
  }
  return {};
}

Status CudaBackend::check() {
  PLIMSOLL_RETURN_IF_ERROR(failure_);
  return blamed(stream_->synchronize());
}

Status CudaBackend::write(std::byte* to, std::span<const std::byte> from) {
  return fill(to, static_cast<std::int64_t>(from.size()),
              [&](std::span<std::byte> piece, std::int64_t offset) {
                std::memcpy(piece.data(), from.data() + offset, piece.size());
              });
}

Status CudaBackend::fill(std::byte* to, std::int64_t bytes, const Fill& fill) {
  PLIMSOLL_RETURN_IF_ERROR(failure_);
  return blamed(staging_->upload(to, bytes, fill));
}

Status CudaBackend::copy(std::byte* to, const std::byte* from,
                         std::int64_t bytes) {
  PLIMSOLL_RETURN_IF_ERROR(failure_);
  if (bytes == 0) return {};
  return blamed(stream_->copy(to, from, bytes, CopyDirection::within_device));
}

Status CudaBackend::read(std::span<std::byte> to, const std::byte* from) {
  PLIMSOLL_RETURN_IF_ERROR(failure_);
  PLIMSOLL_RETURN_IF_ERROR(blamed(staging_->download(to, from)));
  history_.settle();
  return {};
}

Status CudaBackend::blamed(Status status) {
  if (status || status.error().code != ErrorCode::device) return status;
  if (stream_->synchronize()) {
    history_.settle();
    return status;
  }
  Error error = std::move(status).error();
  // Fixed pages can be read whatever has become of the device.
  const std::string ops = history_.suspects(staging_->mark());
  if (!ops.empty()) {
    error.message +=
        fmt::format("; the last that began on the device: {}", ops);
  }
  failure_ = error;
  return error;
}

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(CudaMachine machine) {
  return std::make_unique<CudaBackend>(std::move(machine));
}

}  // namespace plimsoll::runtime
