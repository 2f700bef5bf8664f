#include "ops/matmul/onednn_product.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "device/cpu/compute_threads.h"
#include "ops/onednn/onednn_kernel.h"
#include "ops/simd/isa.h"

namespace plimsoll::ops {
namespace {

// Estimates that only rank candidates, measured on Ice Lake at 2.8 GHz.
constexpr double kCallSeconds = 1.2e-6;
constexpr double kForkSeconds = 2.5e-6;
constexpr double kWideFlopsPerSecond = 160e9;  // 512-bit registers
constexpr double kFlopsPerSecond = 80e9;
// Of one thread in 16 bits: what a product reads is also copied into blocks.
constexpr double kHalfBytesPerSecond = 6e9;

struct Operands {
  int rank = 2;
  DnnlMemoryDesc a, b, bias, c;
};

DnnlMemoryDesc describe(int rank, std::array<dnnl_dim_t, 3> dims,
                        std::array<dnnl_dim_t, 3> strides, DType dtype) {
  const std::size_t skip = rank == 2 ? 1 : 0;
  dnnl_memory_desc_t desc = nullptr;
  dnnl_memory_desc_create_with_strides(&desc, rank, dims.data() + skip,
                                       onednn_type(dtype),
                                       strides.data() + skip);
  return DnnlMemoryDesc(desc);
}

Operands describe(const ProductShape& s, ProductTypes types) {
  Operands all;
  all.rank = s.batch > 1 ? 3 : 2;
  const dnnl_dim_t a_batches = s.a_batch == 0 ? 1 : s.batch;
  const dnnl_dim_t b_batches = s.b_batch == 0 ? 1 : s.batch;
  all.a = describe(all.rank, {a_batches, s.m, s.k},
                   {s.m * s.k, s.a_row, s.a_col}, types.operands);
  all.b = describe(all.rank, {b_batches, s.k, s.n},
                   {s.k * s.n, s.b_row, s.b_col}, types.operands);
  all.c = describe(all.rank, {s.batch, s.m, s.n}, {s.m * s.n, s.n, 1},
                   types.output);
  if (s.bias) {
    all.bias = describe(all.rank, {1, 1, s.n}, {s.n, s.n, 1}, types.output);
  }
  return all;
}

// The first implementation that keeps to its scratch, else the first.
DnnlPrimitiveDesc choose(const Operands& all, bool relu) {
  const DnnlAttr attr = onednn_attr(relu);
  if (!attr || !dnnl_cpu_runtime().ok) return nullptr;
  const auto make = [&] {
    dnnl_primitive_desc_t desc = nullptr;
    const dnnl_status_t status = dnnl_matmul_primitive_desc_create(
        &desc, dnnl_cpu_runtime().engine, all.a.get(), all.b.get(),
        all.bias.get(), all.c.get(), attr.get());
    return DnnlPrimitiveDesc(status == dnnl_success ? desc : nullptr);
  };
  DnnlPrimitiveDesc desc =
      onednn_first(make(), [](const DnnlPrimitiveDesc& one) {
        return !onednn_allocates(onednn_implementation(one));
      });
  return desc ? std::move(desc) : make();
}

std::string name_of(const DnnlPrimitiveDesc& desc, int threads) {
  return fmt::format("matmul:onednn:{}:t{}", onednn_implementation(desc),
                     threads);
}

double bytes_of(const ProductShape& s, ProductTypes types) {
  const auto size = [](std::int64_t value) {
    return static_cast<double>(value);
  };
  return size(s.batch) *
         (size(size_of(types.operands)) * size(s.k) * size(s.m + s.n) +
          size(size_of(types.output)) * size(s.m) * size(s.n));
}

double seconds(std::string_view implementation, const ProductShape& shape,
               ProductTypes types, int threads) {
  double rate = best_isa() == Isa::v4 ? kWideFlopsPerSecond : kFlopsPerSecond;
  const auto has = [&](std::string_view part) {
    return implementation.find(part) != std::string_view::npos;
  };
  if (has("amx")) {
    rate *= 8;
  } else if (has("bf16") || has("fp16")) {
    rate *= 1.7;
  }
  double work = shape.flops() / rate;
  if (types.operands != DType::f32) {
    work = std::max(work, bytes_of(shape, types) / kHalfBytesPerSecond);
  }
  if (threads == 1) return kCallSeconds + work;
  return kCallSeconds + kForkSeconds + work / threads;
}

// An implementation that allocates takes copies of what it reorders.
std::int64_t private_bytes(const DnnlPrimitiveDesc& desc,
                           const ProductShape& s) {
  if (!onednn_allocates(onednn_implementation(desc)))
    return kOnednnPrimitiveBytes;
  return kOnednnPrimitiveBytes +
         4 * (s.batch * s.m * s.n + s.m * s.k + s.k * s.n);
}

Result<std::unique_ptr<Kernel>> make_kernel(const DnnlPrimitiveDesc& desc,
                                            const Operands& all) {
  using Of = OnednnOperand::Of;
  std::vector<OnednnOperand> operands = {
      {DNNL_ARG_SRC, all.a.get(), Of::input, 0},
      {DNNL_ARG_WEIGHTS, all.b.get(), Of::input, 1},
      {DNNL_ARG_DST, all.c.get(), Of::output, 0}};
  if (all.bias) {
    operands.push_back({DNNL_ARG_BIAS, all.bias.get(), Of::input, 2});
  }
  return make_onednn_kernel(desc, operands);
}

}  // namespace

Result<std::vector<graph::KernelCandidate>> onednn_candidates(
    const ProductShape& shape, ProductTypes types, ComputeThreads& threads) {
  std::vector<graph::KernelCandidate> found;
  if (!onednn_counts({shape.batch * shape.m, shape.n, shape.k})) return found;
  threads.enter([&] {
    const Operands all = describe(shape, types);
    const DnnlPrimitiveDesc desc = choose(all, shape.relu);
    if (!desc) return;
    // Our own widen blocks of bf16 and f16: that needs no copies.
    const bool half = types.operands != DType::f32;
    if (half && onednn_allocates(onednn_implementation(desc))) return;
    graph::KernelCandidate candidate;
    candidate.name = name_of(desc, threads.size());
    candidate.scratch_bytes = onednn_scratch_bytes(desc);
    candidate.private_bytes = private_bytes(desc, shape);
    candidate.seconds =
        seconds(onednn_implementation(desc), shape, types, threads.size());
    if (onednn_allocates(onednn_implementation(desc))) candidate.seconds *= 4;
    found.push_back(std::move(candidate));
  });
  return found;
}

Result<std::unique_ptr<Kernel>> make_onednn_product(
    const ProductShape& shape, ProductTypes types,
    const graph::KernelCandidate& candidate, ComputeThreads& threads) {
  Result<std::unique_ptr<Kernel>> made = Error{};
  threads.enter([&] {
    const Operands all = describe(shape, types);
    DnnlPrimitiveDesc desc = choose(all, shape.relu);
    const std::string name = desc ? name_of(desc, threads.size()) : "nothing";
    if (name != candidate.name) {
      made = Error{ErrorCode::unsupported,
                   fmt::format("the plan needs {}, this machine has {}",
                               candidate.name, name)};
      return;
    }
    made = make_kernel(desc, all);
  });
  return made;
}

}  // namespace plimsoll::ops
