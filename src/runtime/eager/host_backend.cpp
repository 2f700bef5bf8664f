#include "runtime/eager/host_backend.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace plimsoll::runtime {
namespace {

class HostLaunch final : public PreparedLaunch {
 public:
  HostLaunch(const graph::KernelCandidate& candidate, ComputeThreads& threads,
             std::unique_ptr<ops::Kernel> kernel, KernelCharge charge)
      : PreparedLaunch(candidate.scratch_bytes),
        threads_(threads),
        kernel_(std::move(kernel)),
        // Small work stays on this thread; joining the others takes longer.
        shares_(candidate.seconds > kSharedSeconds),
        charge_(std::move(charge)) {}

  Status launch(const ops::LaunchArgs& args) override {
    auto status = ops::LaunchStatus::ok;
    if (shares_) {
      threads_.enter([&] { status = kernel_->launch(args); });
    } else {
      status = kernel_->launch(args);
    }
    if (status == ops::LaunchStatus::ok) return {};
    return Error{ErrorCode::device, "the kernel failed"};
  }

 private:
  ComputeThreads& threads_;
  std::unique_ptr<ops::Kernel> kernel_;
  const bool shares_;
  KernelCharge charge_;
};

class HostProgram final : public MovingProgram {
 public:
  HostProgram(std::unique_ptr<Program> program, ComputeThreads& threads,
              KernelCharge charge)
      : MovingProgram(std::move(program)),
        threads_(threads),
        charge_(std::move(charge)) {
    for (const auto& step : this->program().lowered().instructions) {
      shares_ = shares_ || step.kernel.seconds > kSharedSeconds;
    }
  }

  Status run() override {
    if (!shares_) return program().run();
    Status status;
    threads_.enter([&] { status = program().run(); });
    return status;
  }

 private:
  ComputeThreads& threads_;
  bool shares_ = false;  // as single launches do
  KernelCharge charge_;
};

// Equal instructions share a kernel; see Program.
std::int64_t private_bytes(const graph::LoweredGraph& lowered) {
  std::set<std::string> known;
  std::int64_t bytes = 0;
  for (const graph::Instruction& step : lowered.instructions) {
    if (!known.insert(step.kernel_identity()).second) continue;
    bytes += step.kernel.private_bytes;
  }
  return bytes;
}

class HostBackend final : public Backend {
 public:
  HostBackend(ComputeThreads& threads, const ops::KernelFactory& kernels,
              MemorySource& memory)
      : threads_(threads), kernels_(kernels), memory_(memory) {}

  Status open(ProcessBytes&) override { return {}; }
  void close() noexcept override {}
  MemorySource& memory() override { return memory_; }
  Space space() const override { return Space::host; }

  Result<std::unique_ptr<PreparedLaunch>> prepare(
      const graph::KernelQuery& query, KernelBytes& bytes) override {
    PLIMSOLL_ASSIGN(auto candidates, kernels_.candidates(query));
    // Operands lie row by row here, and stay so.
    const auto plain = std::find_if(candidates.begin(), candidates.end(),
                                    [](const auto& candidate) {
                                      return candidate.input_layouts.empty() &&
                                             candidate.output_layouts.empty();
                                    });
    if (plain == candidates.end()) {
      return Error{ErrorCode::unsupported,
                   fmt::format("{}({}) has no kernel for values that lie row "
                               "by row",
                               query.op->name, graph::to_string(query.inputs))};
    }
    PLIMSOLL_ASSIGN(auto charge,
                    bytes.charge(plain->private_bytes, query.op->name));
    PLIMSOLL_ASSIGN(auto kernel, kernels_.create(query, *plain));
    return std::unique_ptr<PreparedLaunch>(std::make_unique<HostLaunch>(
        *plain, threads_, std::move(kernel), std::move(charge)));
  }

  const graph::KernelCatalog& catalog() const override { return kernels_; }
  std::int64_t alignment_bytes() const override {
    return plan::kBufferAlignment;
  }
  void enter(const std::function<void()>& work) override {
    threads_.enter(work);
  }
  Result<std::unique_ptr<MovingProgram>> prepare(
      const graph::LoweredGraph& lowered, const plan::ProgramPlan& plan,
      ProgramMemory memory, KernelBytes& bytes) override {
    PLIMSOLL_ASSIGN(auto charge,
                    bytes.charge(private_bytes(lowered), plan.name));
    PLIMSOLL_ASSIGN(
        auto program,
        Program::prepare(lowered, plan, std::move(memory), kernels_));
    return std::unique_ptr<MovingProgram>(std::make_unique<HostProgram>(
        std::move(program), threads_, std::move(charge)));
  }

  Status check() override { return {}; }
  Status write(std::byte* to, std::span<const std::byte> from) override {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
    return {};
  }
  Status fill(std::byte* to, std::int64_t bytes, const Fill& fill) override {
    fill({to, static_cast<std::size_t>(bytes)}, 0);
    return {};
  }
  Status copy(std::byte* to, const std::byte* from,
              std::int64_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return {};
  }
  Status read(std::span<std::byte> to, const std::byte* from) override {
    if (!to.empty()) std::memcpy(to.data(), from, to.size());
    return {};
  }

 private:
  ComputeThreads& threads_;
  const ops::KernelFactory& kernels_;
  MemorySource& memory_;
};

}  // namespace

std::unique_ptr<Backend> make_host_backend(ComputeThreads& threads,
                                           const ops::KernelFactory& kernels,
                                           MemorySource& memory) {
  return std::make_unique<HostBackend>(threads, kernels, memory);
}

}  // namespace plimsoll::runtime
