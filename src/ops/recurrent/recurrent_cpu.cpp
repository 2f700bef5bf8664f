#include "ops/recurrent/recurrent_cpu.h"

#include <fmt/core.h>

#include "ops/matmul/own_split.h"
#include "ops/matmul/small_gemm.h"
#include "ops/normalization/norm_kernel.h"
#include "ops/recurrent/recurrent_loops.h"
#include "ops/recurrent/recurrent_split.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

template <class T>
const RecurrentLoops<T>& loops() {
  static const RecurrentTables best = pick_recurrent_tables();
  return loops_of<T>(best);
}

// A large recurrent kernel is laid out in panels of neighbouring units first:
// a product of few rows reads it in long strides otherwise, at half the speed.
bool in_panels(const RecurrentShape& shape) {
  constexpr std::int64_t kLeastBytes = 512 * 1024;
  return shape.hidden * shape.width() * size_of(wide_dtype(shape.dtype)) >
         kLeastBytes;
}

std::int64_t panels_of(const RecurrentShape& shape) {
  return (shape.hidden + kUnitStep - 1) / kUnitStep;
}

std::int64_t kernel_elements(const RecurrentShape& shape) {
  return shape.width() *
         (in_panels(shape) ? panels_of(shape) * kUnitStep : shape.hidden);
}

// Scratch in the dtype of computation. States, or backward the gates'
// gradients, of two steps: some threads read one while others write the next.
template <class C>
struct Pieces {
  C* u = nullptr;     // turned where backward; null where u itself serves
  C* bias = nullptr;  // likewise
  C* steps[2] = {};
  C* product = nullptr;
  C* carry = nullptr;  // backward
};

template <class T>
Pieces<Computed<T>> pieces_of(Room& room, const RecurrentShape& shape) {
  using C = Computed<T>;
  Pieces<C> pieces;
  if (shape.gradient || sizeof(T) == 2 || in_panels(shape)) {
    pieces.u = room.take<C>(kernel_elements(shape));
  }
  if (!shape.gradient && sizeof(T) == 2) {
    pieces.bias = room.take<C>(shape.width());
  }
  const std::int64_t states = shape.batch * shape.hidden;
  const std::int64_t gates = shape.batch * shape.width();
  for (C*& step : pieces.steps) {
    step = room.take<C>(shape.gradient ? gates : states);
  }
  pieces.product = room.take<C>(shape.gradient ? states : gates);
  if (shape.gradient) pieces.carry = room.take<C>(states);
  return pieces;
}

template <class T>
class RecurrentKernel final : public Kernel {
  using C = Computed<T>;

 public:
  RecurrentKernel(const RecurrentShape& shape, ComputeThreads& threads)
      : shape_(shape),
        split_(recurrent_split(shape, threads.size())),
        threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    Room room(args.scratch);
    args_ = &args;
    pieces_ = pieces_of<T>(room, shape_);
    take_kernel();
    if (split_.units == 1) {
      auto all_steps = [&](std::int64_t index) {
        const Span rows = part_of(shape_.batch, 1, split_.rows, index);
        for (std::int64_t i = 0; i < shape_.steps; ++i) {
          run(i, rows, {0, shape_.hidden});
        }
      };
      threads_.for_each_chunk(split_.rows, all_steps);
      return LaunchStatus::ok;
    }
    for (std::int64_t i = 0; i < shape_.steps; ++i) {
      auto one_step = [&](std::int64_t index) {
        run(i, part_of(shape_.batch, 1, split_.rows, index / split_.units),
            part_of(shape_.hidden, kUnitStep, split_.units,
                    index % split_.units));
      };
      threads_.for_each_chunk(split_.rows * split_.units, one_step);
    }
    return LaunchStatus::ok;
  }

 private:
  template <class V>
  const V* input(int number) const {
    return static_cast<const V*>(args_->inputs[number]);
  }
  template <class V>
  V* output(int number) const {
    return static_cast<V*>(args_->outputs[number]);
  }

  // The recurrent kernel and its bias, as products take them.
  void take_kernel() {
    if (pieces_.u != nullptr) {
      auto some = [&](std::int64_t index) {
        const std::int64_t first = index * kUnitStep;
        lay(first, std::min(kUnitStep, shape_.hidden - first));
      };
      threads_.for_each_chunk(panels_of(shape_), some);
      u_ = pieces_.u;
    } else if constexpr (sizeof(T) > 2) {
      u_ = input<T>(1);
    }
    bias_ = nullptr;
    if (shape_.gradient || shape_.kind == CellKind::lstm) return;
    if constexpr (sizeof(T) > 2) {
      bias_ = input<T>(2);
    } else {
      loops<T>().widen(input<T>(2), shape_.width(), pieces_.bias);
      bias_ = pieces_.bias;
    }
  }

  // Some units of the kernel: its columns, or its rows where it is turned.
  void lay(std::int64_t first, std::int64_t units) const {
    const std::int64_t hidden = shape_.hidden;
    const std::int64_t width = shape_.width();
    const T* u = input<T>(1);
    if (shape_.gradient) {
      C* to = pieces_.u + (in_panels(shape_) ? first * width : first);
      loops<T>().turn(u + first * width, units, width,
                      in_panels(shape_) ? kUnitStep : hidden, to);
      return;
    }
    if (!in_panels(shape_)) {
      loops<T>().widen(u + first * width, units * width,
                       pieces_.u + first * width);
      return;
    }
    for (std::int64_t g = 0; g < shape_.gates(); ++g) {
      C* to = panel(g, first, hidden);
      for (std::int64_t k = 0; k < hidden; ++k) {
        loops<T>().widen(u + k * width + g * hidden + first, units,
                         to + k * kUnitStep);
      }
    }
  }

  // Of a gate's units from `first` on, `k` lines.
  C* panel(std::int64_t g, std::int64_t first, std::int64_t k) const {
    return pieces_.u +
           (g * panels_of(shape_) + first / kUnitStep) * k * kUnitStep;
  }

  void run(std::int64_t i, Span rows, Span units) const {
    if (rows.size == 0 || units.size == 0) return;
    if (shape_.gradient) {
      backward(i, rows, units);
    } else {
      forward(i, rows, units);
    }
  }

  // The product with the other step's values, `k` a row, for units of a gate;
  // rows of it are `row` apart.
  void multiply(std::int64_t i, Span rows, std::int64_t k, std::int64_t g,
                Span units, std::int64_t row) const {
    const std::int64_t column = g * shape_.hidden + units.begin;
    GemmArgs<C> args;
    args.m = rows.size;
    args.n = units.size;
    args.k = k;
    args.a = pieces_.steps[(i + 1) % 2] + rows.begin * k;
    args.a_row = k;
    args.a_col = 1;
    args.b = u_ + column;
    args.b_row = row;
    args.c = pieces_.product + rows.begin * row + column;
    args.c_row = row;
    args.bias = bias_ == nullptr ? nullptr : bias_ + column;
    if (!in_panels(shape_)) return gemm_table<C>().direct(args);
    args.b_row = kUnitStep;
    for (std::int64_t done = 0; done < units.size; done += kUnitStep) {
      args.n = std::min(kUnitStep, units.size - done);
      args.b = panel(g, units.begin + done, k);
      gemm_table<C>().direct(args);
      args.c += kUnitStep;
      if (args.bias != nullptr) args.bias += kUnitStep;
    }
  }

  void forward(std::int64_t t, Span rows, Span units) const {
    const std::int64_t hidden = shape_.hidden;
    const std::int64_t width = shape_.width();
    if (t > 0 && units.size == hidden && !in_panels(shape_)) {
      multiply(t, rows, hidden, 0, {0, width}, width);
    } else if (t > 0) {
      for (std::int64_t g = 0; g < shape_.gates(); ++g) {
        multiply(t, rows, hidden, g, units, width);
      }
    }
    RecurrentForward<T> step;
    step.rows = rows.size;
    step.units = units.size;
    step.hidden = hidden;
    step.state_row = shape_.steps * hidden;
    const std::int64_t state =
        rows.begin * step.state_row + t * hidden + units.begin;
    const std::int64_t gates =
        shape_.gates() * (state - units.begin) + units.begin;
    const std::int64_t wide = rows.begin * hidden + units.begin;
    step.sums = input<T>(0) + gates;
    step.states = output<T>(0) + state;
    step.wide_states = pieces_.steps[t % 2] + wide;
    step.gates = output<T>(2) + gates;
    if (t > 0) {
      step.product = pieces_.product + rows.begin * width + units.begin;
      step.product_row = width;
    } else if (bias_ != nullptr) {
      step.product = bias_ + units.begin;
    }
    if (shape_.kind == CellKind::lstm) {
      step.cells = output<C>(1) + state;
      if (t > 0) step.before = step.cells - hidden;
      step.before_row = step.state_row;
      loops<T>().lstm(step);
    } else {
      step.candidate_sums = output<T>(1) + state;
      if (t > 0) step.before = pieces_.steps[(t + 1) % 2] + wide;
      step.before_row = hidden;
      loops<T>().gru(step);
    }
  }

  void backward(std::int64_t i, Span rows, Span units) const {
    const std::int64_t hidden = shape_.hidden;
    const std::int64_t width = shape_.width();
    const std::int64_t t = shape_.steps - 1 - i;
    if (i > 0) multiply(i, rows, width, 0, units, hidden);
    RecurrentBackward<T> step;
    step.rows = rows.size;
    step.units = units.size;
    step.hidden = hidden;
    step.state_row = shape_.steps * hidden;
    const std::int64_t state =
        rows.begin * step.state_row + t * hidden + units.begin;
    const std::int64_t gates =
        shape_.gates() * (state - units.begin) + units.begin;
    const std::int64_t wide = rows.begin * hidden + units.begin;
    step.dy = input<T>(0) + state;
    if (i > 0) step.product = pieces_.product + wide;
    step.carry = pieces_.carry + wide;
    step.dsums = output<T>(0) + gates;
    step.wide = pieces_.steps[i % 2] + rows.begin * width + units.begin;
    if (shape_.kind == CellKind::lstm) {
      step.cells = input<C>(2) + state;
      if (t > 0) step.cells_before = step.cells - hidden;
      step.gates = input<T>(3) + gates;
      loops<T>().lstm_grad(step);
    } else {
      if (t > 0) step.states_before = input<T>(2) + state - hidden;
      step.candidate_sums = input<T>(3) + state;
      step.gates = input<T>(4) + gates;
      step.drecurrent = output<T>(1) + gates;
      loops<T>().gru_grad(step);
    }
  }

  RecurrentShape shape_;
  RecurrentSplit split_;
  ComputeThreads& threads_;
  const LaunchArgs* args_ = nullptr;
  Pieces<C> pieces_;
  const C* u_ = nullptr;
  const C* bias_ = nullptr;
};

Result<std::vector<KernelCandidate>> candidates(const KernelQuery& query,
                                                ComputeThreads& threads) {
  const RecurrentShape shape = recurrent_shape(query.op->name, query.inputs);
  KernelCandidate candidate;
  candidate.name =
      fmt::format("{}:own:direct:{}", query.op->name, name_of(best_isa()));
  candidate.scratch_bytes = with_stored(shape.dtype, [&](auto stored) {
    Room room(nullptr);
    pieces_of<decltype(stored)>(room, shape);
    return room.bytes();
  });
  candidate.private_bytes = 512;
  candidate.seconds =
      1e-6 + static_cast<double>(shape.steps) *
                 recurrent_split(shape, threads.size()).step_seconds;
  return std::vector{std::move(candidate)};
}

Result<std::unique_ptr<Kernel>> create(const KernelQuery& query,
                                       const KernelCandidate&,
                                       ComputeThreads& threads) {
  const RecurrentShape shape = recurrent_shape(query.op->name, query.inputs);
  return with_stored(shape.dtype, [&](auto stored) -> std::unique_ptr<Kernel> {
    return std::make_unique<RecurrentKernel<decltype(stored)>>(shape, threads);
  });
}

constexpr CpuKernels kKernels[] = {{"lstm", candidates, create},
                                   {"lstm_grad", candidates, create},
                                   {"gru", candidates, create},
                                   {"gru_grad", candidates, create}};

}  // namespace

std::span<const CpuKernels> recurrent_cpu_kernels() { return kKernels; }

}  // namespace plimsoll::ops
