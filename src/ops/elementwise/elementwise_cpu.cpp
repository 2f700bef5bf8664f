#include "ops/elementwise/elementwise_cpu.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "device/cpu/compute_threads.h"
#include "ops/elementwise/choice_loops.h"
#include "ops/elementwise/domain.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_loops.h"
#include "ops/elementwise/program.h"
#include "ops/isa.h"
#include "ops/simd/half_loops.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

// Seconds of one thread, from what the loops and memory were measured to do.
double seconds_of_one(const KernelQuery& query) {
  const graph::Cost cost =
      query.op->cost(query.inputs, query.outputs, *query.attrs);
  double flops_per_second = best_isa() == Isa::v4   ? 40e9
                            : best_isa() == Isa::v3 ? 15e9
                                                    : 7e9;
  // f64 is half as wide, and its functions are the library's, one by one.
  if (query.outputs[0].dtype == DType::f64) flops_per_second /= 6;
  // Out of the caches, or from memory.
  const double bytes_per_second = cost.bytes < 1024 * 1024 ? 50e9 : 18e9;
  return cost.flops / flops_per_second + cost.bytes / bytes_per_second;
}

// Chunks that threads share; small work stays on the calling thread.
std::int64_t chunks_of(double seconds, int threads, std::int64_t blocks) {
  constexpr double kWorthSharing = 20e-6;
  if (threads <= 1 || seconds < kWorthSharing) return 1;
  const auto most = static_cast<std::int64_t>(seconds / (kWorthSharing / 2));
  return std::min({std::int64_t{2} * threads, most, blocks});
}

struct Setup {
  DType compute = DType::f32;  // of all slots: f64, or halves only chosen from
  Domain domain;
  CompiledExpression code;
  std::vector<std::size_t> expanded;  // inputs that every block fills a slot of
  // By input and output: null where it is stored as it is computed.
  std::vector<WidenLoop> widen;
  std::vector<NarrowLoop> narrow;
  int staging = 0;  // one more slot, for halves that are expanded
  std::int64_t chunks = 1;
  std::int64_t slot_bytes = 0;

  int program_slots() const {
    return std::max(code.direct.slots, code.safe.slots);
  }
  int slots() const { return program_slots() + staging; }
};

// f64 by itself; f32, bf16 and f16 are computed in f32 and go together.
bool fits(DType dtype, DType compute) {
  return is_floating(dtype) && (dtype == DType::f64) == (compute == DType::f64);
}

const ElementwiseLoop* loops_for(DType compute) {
  if (compute == DType::bf16) return pick_choice_loops().bf16;
  if (compute == DType::f16) return pick_choice_loops().f16;
  return compute == DType::f64 ? pick_elementwise_loops().f64
                               : pick_elementwise_loops().f32;
}

decltype(&expand_f32) expand_for(DType compute) {
  if (is_half(compute)) return expand_u16;
  return compute == DType::f64 ? expand_f64 : expand_f32;
}

// bf16 or f16 where nothing else is read or written and every instruction
// chooses: such a program needs no conversions. Otherwise f32, or f64.
DType computed_in(const KernelQuery& query,
                  const graph::ElementwiseExpression& expression) {
  const DType stored = query.outputs[0].dtype;
  if (!is_half(stored)) return wide_dtype(stored);
  const auto same = [&](const graph::TensorType& type) {
    return type.dtype == stored;
  };
  const auto chooses = [&](const graph::ElementwiseInstruction& one) {
    return loops_for(stored)[static_cast<std::size_t>(one.code)] != nullptr;
  };
  const bool all =
      std::all_of(query.inputs.begin(), query.inputs.end(), same) &&
      std::all_of(query.outputs.begin(), query.outputs.end(), same) &&
      std::all_of(expression.instructions.begin(),
                  expression.instructions.end(), chooses);
  return all ? stored : wide_dtype(stored);
}

// Nothing where no loop fits: the catalogue then names op and dtypes.
std::optional<Setup> set_up(const KernelQuery& query, int threads) {
  Setup setup;
  const graph::ElementwiseExpression expression =
      expression_of(*query.op, *query.attrs);
  setup.compute = computed_in(query, expression);
  const auto converted = [&](const graph::TensorType& type) {
    return is_half(type.dtype) && type.dtype != setup.compute;
  };
  std::vector<bool> out_slot;
  for (const graph::TensorType& output : query.outputs) {
    if (!fits(output.dtype, setup.compute)) return std::nullopt;
    out_slot.push_back(converted(output));
    setup.narrow.push_back(out_slot.back() ? narrow_loop(output.dtype)
                                           : nullptr);
  }
  for (const graph::TensorType& input : query.inputs) {
    if (!fits(input.dtype, setup.compute)) return std::nullopt;
    setup.widen.push_back(converted(input) ? widen_loop(input.dtype) : nullptr);
  }
  auto domain = find_domain(query.inputs, query.outputs[0].shape);
  if (!domain) return std::nullopt;
  setup.domain = *std::move(domain);
  std::vector<bool> in_slot;
  for (std::size_t i = 0; i < setup.domain.inputs.size(); ++i) {
    const Access access = setup.domain.inputs[i].access;
    const bool direct = access == Access::dense || access == Access::periodic;
    const bool half = setup.widen[i] != nullptr;
    in_slot.push_back(!direct || half);
    if (access == Access::expanded || (direct && half)) {
      setup.expanded.push_back(i);
    }
    if (access == Access::expanded && half) setup.staging = 1;
  }
  setup.code = compile(expression, in_slot, out_slot);
  if (setup.domain.elements > 0) {
    // An odd number of cache lines: slots that lie whole pages apart would
    // take each other's place in L1.
    const std::int64_t lines =
        (std::min(setup.domain.block, setup.domain.elements) *
             size_of(setup.compute) +
         63) /
        64;
    setup.slot_bytes = (lines | 1) * 64;
    setup.chunks =
        chunks_of(seconds_of_one(query), threads, setup.domain.blocks());
  }
  return setup;
}

class ElementwiseKernel final : public Kernel {
 public:
  ElementwiseKernel(Setup setup, ComputeThreads& threads)
      : setup_(std::move(setup)),
        element_bytes_(size_of(setup_.compute)),
        loops_(loops_for(setup_.compute)),
        expand_(expand_for(setup_.compute)),
        threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    if (setup_.domain.elements == 0) return LaunchStatus::ok;
    const Program& program = choose(args);
    if (setup_.chunks == 1) {
      run(args, program, 0);
      return LaunchStatus::ok;
    }
    auto body = [&](std::int64_t chunk) { run(args, program, chunk); };
    threads_.for_each_chunk(setup_.chunks, body);
    return LaunchStatus::ok;
  }

 private:
  struct Block {
    std::int64_t start = 0;
    std::int64_t count = 0;
    char* slots = nullptr;
  };

  const Program& choose(const LaunchArgs& args) const {
    for (const Hazard& hazard : setup_.code.hazards) {
      if (args.inputs[hazard.input] == args.outputs[hazard.output]) {
        return setup_.code.safe;
      }
    }
    return setup_.code.direct;
  }

  char* slot(const Block& block, int index) const {
    return block.slots + index * setup_.slot_bytes;
  }

  void run(const LaunchArgs& args, const Program& program,
           std::int64_t chunk) const {
    const Domain& domain = setup_.domain;
    const std::int64_t blocks = domain.blocks();
    const std::int64_t first = blocks * chunk / setup_.chunks;
    const std::int64_t last = blocks * (chunk + 1) / setup_.chunks;
    Block block;
    block.slots = static_cast<char*>(args.scratch) +
                  chunk * setup_.slots() * setup_.slot_bytes;
    fill_once(args, program, block);
    std::int64_t row = first / domain.blocks_per_row * domain.row;
    std::int64_t column = first % domain.blocks_per_row * domain.block;
    for (std::int64_t i = first; i < last; ++i) {
      block.start = row + column;
      block.count = std::min(domain.block, domain.row - column);
      if (block.count > 0) run_block(args, program, block);
      column += domain.block;
      if (column >= domain.blocks_per_row * domain.block) {
        column = 0;
        row += domain.row;
      }
    }
  }

  void fill_once(const LaunchArgs& args, const Program& program,
                 const Block& block) const {
    const std::int64_t count =
        std::min(setup_.domain.block, setup_.domain.elements);
    for (const Step& step : program.once) {
      call(step, nullptr, nullptr, nullptr, slot(block, step.out.index), count);
    }
    for (std::size_t i = 0; i < setup_.domain.inputs.size(); ++i) {
      const InputAccess& input = setup_.domain.inputs[i];
      if (input.access != Access::scalar && input.access != Access::tiled) {
        continue;
      }
      char* out = slot(block, program.input_slots[i]);
      // Doubling what is there repeats it with few long copies.
      const std::int64_t bytes = count * element_bytes_;
      std::int64_t done = std::min(input.period * element_bytes_, bytes);
      if (setup_.widen[i] != nullptr) {
        setup_.widen[i](static_cast<const std::uint16_t*>(args.inputs[i]),
                        reinterpret_cast<float*>(out), done / element_bytes_);
      } else {
        std::memcpy(out, args.inputs[i], static_cast<std::size_t>(done));
      }
      while (done < bytes) {
        const std::int64_t more = std::min(done, bytes - done);
        std::memcpy(out + done, out, static_cast<std::size_t>(more));
        done += more;
      }
    }
  }

  void run_block(const LaunchArgs& args, const Program& program,
                 const Block& block) const {
    for (const std::size_t i : setup_.expanded) {
      char* out = slot(block, program.input_slots[i]);
      if (setup_.widen[i] != nullptr) {
        widen(args, i, block, out);
      } else {
        expand_(setup_.domain, setup_.domain.inputs[i], args.inputs[i], out,
                block.start, block.count);
      }
    }
    for (const Step& step : program.steps) {
      if (step.out.kind == Place::Kind::output && narrow(args, step, block)) {
        continue;
      }
      const void* b = nullptr;
      const void* c = nullptr;
      if (step.b.kind != Place::Kind::none) {
        b = read(args, step.b, block);
        if (step.c.kind != Place::Kind::none) c = read(args, step.c, block);
      }
      call(step, read(args, step.a, block), b, c, write(args, step.out, block),
           block.count);
    }
  }

  void widen(const LaunchArgs& args, std::size_t i, const Block& block,
             char* out) const {
    const InputAccess& input = setup_.domain.inputs[i];
    const auto* in = static_cast<const std::uint16_t*>(args.inputs[i]);
    if (input.access == Access::expanded) {
      char* staged = slot(block, setup_.program_slots());
      expand_u16(setup_.domain, input, in, staged, block.start, block.count);
      in = reinterpret_cast<const std::uint16_t*>(staged);
    } else {
      in += input.access == Access::periodic ? block.start % input.period
                                             : block.start;
    }
    setup_.widen[i](in, reinterpret_cast<float*>(out), block.count);
  }

  // Stores an output in its own type, if that is another than it is made in.
  bool narrow(const LaunchArgs& args, const Step& step,
              const Block& block) const {
    const NarrowLoop store =
        setup_.narrow[static_cast<std::size_t>(step.out.index)];
    if (store == nullptr) return false;
    store(
        reinterpret_cast<const float*>(slot(block, step.a.index)),
        static_cast<std::uint16_t*>(args.outputs[step.out.index]) + block.start,
        block.count);
    return true;
  }

  const void* read(const LaunchArgs& args, const Place& place,
                   const Block& block) const {
    if (place.kind != Place::Kind::input) return write(args, place, block);
    const InputAccess& input =
        setup_.domain.inputs[static_cast<std::size_t>(place.index)];
    const std::int64_t start = input.access == Access::periodic
                                   ? block.start % input.period
                                   : block.start;
    return static_cast<const char*>(args.inputs[place.index]) +
           start * element_bytes_;
  }

  void* write(const LaunchArgs& args, const Place& place,
              const Block& block) const {
    if (place.kind == Place::Kind::slot) return slot(block, place.index);
    return static_cast<char*>(args.outputs[place.index]) +
           block.start * element_bytes_;
  }

  void call(const Step& step, const void* a, const void* b, const void* c,
            void* out, std::int64_t count) const {
    loops_[static_cast<std::size_t>(step.code)](a, b, c, out, step.scalar,
                                                count);
  }

  const Setup setup_;
  const std::int64_t element_bytes_;
  const ElementwiseLoop* const loops_;
  decltype(&expand_f32) const expand_;
  ComputeThreads& threads_;
};

std::int64_t private_bytes(const Setup& setup) {
  const auto steps = setup.code.direct.once.size() +
                     setup.code.direct.steps.size() +
                     setup.code.safe.once.size() + setup.code.safe.steps.size();
  return static_cast<std::int64_t>(sizeof(ElementwiseKernel) +
                                   steps * sizeof(Step) +
                                   setup.domain.inputs.size() * 256);
}

Result<std::vector<KernelCandidate>> candidates(const KernelQuery& query,
                                                ComputeThreads& threads) {
  const auto setup = set_up(query, threads.size());
  if (!setup) return std::vector<KernelCandidate>();
  KernelCandidate candidate;
  // Every element is made alone: no split enters the name.
  candidate.name = fmt::format("fused:{}", name_of(best_isa()));
  candidate.scratch_bytes = setup->chunks * setup->slots() * setup->slot_bytes;
  candidate.private_bytes = private_bytes(*setup);
  const auto sharing = static_cast<double>(
      std::min<std::int64_t>(setup->chunks, threads.size()));
  candidate.seconds = 0.2e-6 + seconds_of_one(query) / sharing;
  return std::vector<KernelCandidate>{std::move(candidate)};
}

Result<std::unique_ptr<Kernel>> create(const KernelQuery& query,
                                       const KernelCandidate&,
                                       ComputeThreads& threads) {
  auto setup = set_up(query, threads.size());
  if (!setup) {
    return Error{ErrorCode::unsupported,
                 fmt::format("{} has no CPU kernel for {}", query.op->name,
                             query.outputs[0].to_string())};
  }
  return std::unique_ptr<Kernel>(
      std::make_unique<ElementwiseKernel>(*std::move(setup), threads));
}

}  // namespace

std::span<const CpuKernels> elementwise_cpu_kernels() {
  static const auto kernels = [] {
    std::vector<CpuKernels> all;
    for (const graph::OpDef* op : elementwise_ops()) {
      all.push_back({op->name, candidates, create});
    }
    return all;
  }();
  return kernels;
}

}  // namespace plimsoll::ops
