#include "ops/loss/linear_cross_entropy_cpu.h"

#include "base/half.h"
#include "device/cpu/compute_threads.h"
#include "ops/loss/linear_products_cpu.h"
#include "ops/loss/loss_loops.h"
#include "ops/movement/chunked.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;
using Made = Result<std::unique_ptr<Kernel>>;

// A product that was planned, made.
using Product = std::unique_ptr<Kernel>;

struct ChunkProducts {
  Product logits, dx, panel, last_panel;
};

Result<ChunkProducts> make_products(const LinearPlan& plan,
                                    const LinearPlan::Chunk& chunk,
                                    ComputeThreads& threads) {
  const auto make = [&](const LinearPlan::Product& product) {
    return make_product(product.shape, {plan.dtype, product.output},
                        product.candidate, threads);
  };
  ChunkProducts made;
  PLIMSOLL_ASSIGN(made.logits, make(chunk.logits));
  if (!plan.gradient) return made;
  PLIMSOLL_ASSIGN(made.dx, make(chunk.dx));
  PLIMSOLL_ASSIGN(made.panel, make(chunk.panel));
  if (chunk.last_panel) {
    PLIMSOLL_ASSIGN(made.last_panel, make(*chunk.last_panel));
  }
  return made;
}

// Both directions: the loss is read off the logits of a chunk, or they become
// their own gradient, from which x's and the weight's follow. `T` is the type
// of logits; operands may have 16 bits, and gradients of logits are then
// rounded.
template <class T>
class LinearLoss final : public Kernel {
 public:
  static Made make(const LinearPlan& plan, ComputeThreads& threads) {
    std::unique_ptr<LinearLoss> made(new LinearLoss(plan, threads));
    if (plan.chunks.count() > 0) {
      PLIMSOLL_ASSIGN(made->full_, make_products(plan, plan.full, threads));
    }
    if (plan.last) {
      PLIMSOLL_ASSIGN(made->last_, make_products(plan, *plan.last, threads));
    }
    return std::unique_ptr<Kernel>(std::move(made));
  }

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    scratch_ = static_cast<std::byte*>(args.scratch);
    ok_ = true;
    const std::int64_t chunks = plan_.chunks.count();
    for (std::int64_t chunk = 0; ok_ && chunk < chunks; ++chunk) {
      const bool last = plan_.last && chunk + 1 == chunks;
      run(last ? last_ : full_, chunk, args);
    }
    if (plan_.gradient && chunks == 0) {
      std::fill_n(static_cast<T*>(args.outputs[1]),
                  plan_.weight_rows * plan_.panel_width, T(0));
      if (plan_.bias) {
        std::fill_n(static_cast<T*>(args.outputs[2]), plan_.chunks.classes,
                    T(0));
      }
    }
    return ok_ ? LaunchStatus::ok : LaunchStatus::failed;
  }

 private:
  LinearLoss(const LinearPlan& plan, ComputeThreads& threads)
      : plan_(plan), threads_(threads) {
    if constexpr (sizeof(T) == 8) {
      loops_ = pick_loss_tables().f64;
    } else {
      loops_ = pick_loss_tables().f32;
    }
  }

  void multiply(const Product& product, const void* a, const void* b, void* c) {
    const void* const inputs[] = {a, b};
    void* const outputs[] = {c};
    std::byte* const own = panel() + plan_.panel_bytes;
    ok_ = ok_ && product->launch({inputs, outputs, own}) == LaunchStatus::ok;
  }

  std::byte* panel() const {
    return scratch_ + plan_.logits_bytes + plan_.gradients_bytes;
  }
  // Where element `index` of an operand lies.
  const std::byte* operand(const void* base, std::int64_t index) const {
    return static_cast<const std::byte*>(base) + index * size_of(plan_.dtype);
  }

  // `each(first, rows)` for parts of a chunk's rows, as the loss's own kernel
  // cuts them.
  template <class Each>
  void for_rows(std::int64_t rows, const Each& each) {
    constexpr std::int64_t kElements = 16384;
    const std::int64_t step =
        std::max<std::int64_t>(1, kElements / plan_.chunks.classes);
    auto part = [&](std::int64_t index) {
      each(index * step, std::min(step, rows - index * step));
    };
    threads_.for_each_chunk((rows + step - 1) / step, part);
  }

  void run(const ChunkProducts& products, std::int64_t chunk,
           const LaunchArgs& args) {
    const LinearChunks& c = plan_.chunks;
    const std::int64_t first = chunk * c.most;
    const std::int64_t rows = c.rows_of(chunk);
    const int at = plan_.gradient ? 1 : 0;
    const std::byte* x = operand(args.inputs[at], first * c.width);
    const void* weight = args.inputs[at + 1];
    const auto* labels =
        static_cast<const std::int32_t*>(args.inputs[at + 2]) + first;
    const T* bias =
        plan_.bias ? static_cast<const T*>(args.inputs[at + 3]) : nullptr;
    T* logits = reinterpret_cast<T*>(scratch_);
    multiply(products.logits, x, weight, logits);
    if (!plan_.gradient) {
      T* loss = static_cast<T*>(args.outputs[0]) + first;
      for_rows(rows, [&](std::int64_t row, std::int64_t count) {
        add_bias(bias, logits + row * c.classes, count);
        loops_.sparse(logits + row * c.classes, labels + row, count, c.classes,
                      loss + row);
      });
      return;
    }
    const T* dy = static_cast<const T*>(args.inputs[0]) + first;
    for_rows(rows, [&](std::int64_t row, std::int64_t count) {
      T* own = logits + row * c.classes;
      add_bias(bias, own, count);
      loops_.sparse_grad(dy + row, own, labels + row, count, c.classes, own);
      round(own, row * c.classes, count * c.classes);
    });
    if (plan_.bias) {
      sum_rows(logits, rows, chunk > 0, static_cast<T*>(args.outputs[2]));
    }
    const std::byte* gradients =
        scratch_ + (plan_.gradients_bytes > 0 ? plan_.logits_bytes : 0);
    multiply(products.dx, gradients, weight,
             static_cast<std::byte*>(args.outputs[0]) +
                 first * c.width * size_of(plan_.dtype));
    add_weight(products, chunk, x, gradients, static_cast<T*>(args.outputs[1]));
  }

  // To rows of logits, while they are near.
  void add_bias(const T* bias, T* logits, std::int64_t rows) const {
    if (bias == nullptr) return;
    const std::int64_t classes = plan_.chunks.classes;
    for (T* end = logits + rows * classes; logits < end; logits += classes) {
      for (std::int64_t i = 0; i < classes; ++i) logits[i] += bias[i];
    }
  }

  // The bias's gradient: every class's rows in order, whoever sums them.
  void sum_rows(const T* gradients, std::int64_t rows, bool more, T* dbias) {
    constexpr std::int64_t kClasses = 512;
    const std::int64_t classes = plan_.chunks.classes;
    auto part = [&](std::int64_t index) {
      const std::int64_t first = index * kClasses;
      const std::int64_t count = std::min(kClasses, classes - first);
      T sums[kClasses] = {};
      for (std::int64_t row = 0; row < rows; ++row) {
        const T* from = gradients + row * classes + first;
        for (std::int64_t i = 0; i < count; ++i) sums[i] += from[i];
      }
      T* to = dbias + first;
      for (std::int64_t i = 0; i < count; ++i) {
        to[i] = more ? to[i] + sums[i] : sums[i];
      }
    };
    threads_.for_each_chunk((classes + kClasses - 1) / kClasses, part);
  }

  // Into the gradients, from their element `first` on, where they have 16 bits.
  void round(const T* from, std::int64_t first, std::int64_t count) const {
    if (plan_.dtype == plan_.compute) return;
    auto* to =
        reinterpret_cast<std::uint16_t*>(scratch_ + plan_.logits_bytes) + first;
    if (plan_.dtype == DType::bf16) {
      for (std::int64_t i = 0; i < count; ++i) {
        to[i] = float_to_bf16(static_cast<float>(from[i]));
      }
    } else {
      for (std::int64_t i = 0; i < count; ++i) {
        to[i] = float_to_f16(static_cast<float>(from[i]));
      }
    }
  }

  void add_weight(const ChunkProducts& products, std::int64_t chunk,
                  const std::byte* x, const std::byte* gradient, T* dweight) {
    const std::byte* left = plan_.chunks.transposed ? gradient : x;
    const std::byte* right = plan_.chunks.transposed ? x : gradient;
    T* const part = reinterpret_cast<T*>(panel());
    for (std::int64_t row = 0; row < plan_.weight_rows;
         row += plan_.panel_rows) {
      const std::int64_t rows =
          std::min(plan_.panel_rows, plan_.weight_rows - row);
      const Product& product =
          rows == plan_.panel_rows ? products.panel : products.last_panel;
      T* to = dweight + row * plan_.panel_width;
      if (chunk == 0) {
        multiply(product, operand(left, row), right, to);
        continue;
      }
      multiply(product, operand(left, row), right, part);
      const std::int64_t elements = rows * plan_.panel_width;
      for_ranges(
          threads_,
          movement_chunks(3.0 * sizeof(T) * static_cast<double>(elements),
                          threads_.size()),
          elements, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) to[i] += part[i];
          });
    }
  }

  LinearPlan plan_;
  ComputeThreads& threads_;
  LossLoops<T> loops_;
  ChunkProducts full_, last_;
  std::byte* scratch_ = nullptr;
  bool ok_ = true;
};

template <bool kGradient>
Result<std::vector<KernelCandidate>> candidates(const KernelQuery& query,
                                                ComputeThreads& threads) {
  PLIMSOLL_ASSIGN(const LinearPlan plan,
                  plan_linear(query, kGradient, threads));
  KernelCandidate candidate;
  candidate.name = plan.name;
  candidate.scratch_bytes = plan.scratch_bytes();
  candidate.private_bytes = plan.private_bytes;
  candidate.seconds = plan.seconds;
  return std::vector{candidate};
}

template <bool kGradient>
Made create(const KernelQuery& query, const KernelCandidate& candidate,
            ComputeThreads& threads) {
  PLIMSOLL_ASSIGN(const LinearPlan plan,
                  plan_linear(query, kGradient, threads));
  if (plan.name != candidate.name) {
    return Error{ErrorCode::unsupported, "the plan needs " + candidate.name +
                                             ", this machine has " + plan.name};
  }
  return plan.dtype == DType::f64 ? LinearLoss<double>::make(plan, threads)
                                  : LinearLoss<float>::make(plan, threads);
}

constexpr CpuKernels kKernels[] = {
    {"linear_cross_entropy", candidates<false>, create<false>},
    {"linear_cross_entropy_grad", candidates<true>, create<true>}};

}  // namespace

std::span<const CpuKernels> linear_loss_cpu_kernels() { return kKernels; }

}  // namespace plimsoll::ops
