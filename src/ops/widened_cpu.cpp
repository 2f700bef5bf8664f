#include "ops/widened_cpu.h"

#include <algorithm>

#include "base/units.h"
#include "ops/movement/chunked.h"
#include "ops/simd/half_loops.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;
using graph::TypeList;

constexpr std::string_view kPrefix = "widened:";
constexpr double kBytesPerSecond = 10e9;  // of one thread's conversions

// One operand as the f32 kernel sees it.
struct Operand {
  DType dtype = DType::f32;
  std::int64_t elements = 0;
  std::int64_t offset = -1;  // of its f32 copy in scratch; -1: none
};

// The query with f32 in place of halves, and where the copies lie.
struct Widened {
  TypeList inputs, outputs;
  std::vector<Operand> in, out;
  std::int64_t bytes = 0;

  explicit Widened(const KernelQuery& query) {
    add(query.inputs, inputs, in);
    add(query.outputs, outputs, out);
  }

  KernelQuery query(const KernelQuery& from) const {
    return {from.op, inputs, outputs, from.attrs};
  }

 private:
  void add(std::span<const graph::TensorType> types, TypeList& wide,
           std::vector<Operand>& operands) {
    for (const graph::TensorType& type : types) {
      Operand operand{type.dtype, type.shape.elements(), -1};
      wide.push_back(type);
      if (is_half(type.dtype)) {
        wide.back().dtype = DType::f32;
        operand.offset = bytes;
        bytes += round_up(operand.elements * 4, std::int64_t{64});
      }
      operands.push_back(operand);
    }
  }
};

class WidenedKernel final : public Kernel {
 public:
  WidenedKernel(const Widened& how, std::unique_ptr<Kernel> kernel,
                ComputeThreads& threads)
      : in_(how.in),
        out_(how.out),
        bytes_(how.bytes),
        kernel_(std::move(kernel)),
        inputs_(how.in.size()),
        outputs_(how.out.size()),
        threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    auto* scratch = static_cast<std::byte*>(args.scratch);
    const auto copy_of = [&](const Operand& operand) {
      return reinterpret_cast<float*>(scratch + operand.offset);
    };
    for (std::size_t i = 0; i < in_.size(); ++i) {
      inputs_[i] = args.inputs[i];
      if (in_[i].offset < 0) continue;
      const auto* from = static_cast<const std::uint16_t*>(args.inputs[i]);
      float* to = copy_of(in_[i]);
      const WidenLoop widen = widen_loop(in_[i].dtype);
      each_range(in_[i], [&](std::int64_t begin, std::int64_t end) {
        widen(from + begin, to + begin, end - begin);
      });
      inputs_[i] = to;
    }
    for (std::size_t i = 0; i < out_.size(); ++i) {
      outputs_[i] = out_[i].offset < 0 ? args.outputs[i] : copy_of(out_[i]);
    }
    const LaunchStatus status =
        kernel_->launch({inputs_.data(), outputs_.data(), scratch + bytes_});
    if (status != LaunchStatus::ok) return status;
    for (std::size_t i = 0; i < out_.size(); ++i) {
      if (out_[i].offset < 0) continue;
      const float* from = copy_of(out_[i]);
      auto* to = static_cast<std::uint16_t*>(args.outputs[i]);
      const NarrowLoop narrow = narrow_loop(out_[i].dtype);
      each_range(out_[i], [&](std::int64_t begin, std::int64_t end) {
        narrow(from + begin, to + begin, end - begin);
      });
    }
    return LaunchStatus::ok;
  }

 private:
  template <class F>
  void each_range(const Operand& operand, const F& run) noexcept {
    const auto bytes = static_cast<double>(operand.elements * 6);
    for_ranges(threads_, movement_chunks(bytes, threads_.size()),
               operand.elements, run);
  }

  std::vector<Operand> in_, out_;
  std::int64_t bytes_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  ComputeThreads& threads_;
};

}  // namespace

bool has_halves(const KernelQuery& query) {
  const auto half = [](const graph::TensorType& type) {
    return is_half(type.dtype);
  };
  return std::any_of(query.inputs.begin(), query.inputs.end(), half) ||
         std::any_of(query.outputs.begin(), query.outputs.end(), half);
}

Result<std::vector<KernelCandidate>> widened_candidates(
    const KernelQuery& query, const CpuKernels& kernels,
    ComputeThreads& threads) {
  const Widened how(query);
  PLIMSOLL_ASSIGN(auto found, kernels.candidates(how.query(query), threads));
  for (KernelCandidate& candidate : found) {
    candidate.name = std::string(kPrefix) + candidate.name;
    candidate.scratch_bytes += how.bytes;
    candidate.private_bytes += 1024;
    candidate.seconds += 1.5 * static_cast<double>(how.bytes) / kBytesPerSecond;
  }
  return found;
}

bool is_widened(const KernelCandidate& candidate) {
  return candidate.name.starts_with(kPrefix);
}

Result<std::unique_ptr<Kernel>> create_widened(const KernelQuery& query,
                                               const KernelCandidate& candidate,
                                               const CpuKernels& kernels,
                                               ComputeThreads& threads) {
  const Widened how(query);
  KernelCandidate inner = candidate;
  inner.name.erase(0, kPrefix.size());
  inner.scratch_bytes -= how.bytes;
  PLIMSOLL_ASSIGN(auto kernel,
                  kernels.create(how.query(query), inner, threads));
  return std::unique_ptr<Kernel>(
      std::make_unique<WidenedKernel>(how, std::move(kernel), threads));
}

}  // namespace plimsoll::ops
