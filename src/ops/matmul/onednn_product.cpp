#include "ops/matmul/onednn_product.h"

#include <fmt/core.h>

#include <array>

#include "device/cpu/compute_threads.h"
#include "ops/matmul/onednn_handles.h"
#include "ops/simd/isa.h"

namespace plimsoll::ops {
namespace {

// Estimates that only rank candidates, measured on Ice Lake at 2.8 GHz.
constexpr double kCallSeconds = 1.2e-6;
constexpr double kForkSeconds = 2.5e-6;
constexpr double kWideFlopsPerSecond = 160e9;  // 512-bit registers
constexpr double kFlopsPerSecond = 80e9;

// What a primitive keeps besides the scratch it reports: generated code and
// descriptors. Over 192 shapes with bias and relu the resident set grew by
// 155 KiB a primitive, 350 KiB at most.
constexpr std::int64_t kPrimitiveBytes = 256 * 1024;

dnnl_data_type_t dnnl_type(DType dtype) {
  return dtype == DType::bf16  ? dnnl_bf16
         : dtype == DType::f16 ? dnnl_f16
                               : dnnl_f32;
}

struct Operands {
  int rank = 2;
  DnnlMemoryDesc a, b, bias, c;
};

DnnlMemoryDesc describe(int rank, std::array<dnnl_dim_t, 3> dims,
                        std::array<dnnl_dim_t, 3> strides, DType dtype) {
  const std::size_t skip = rank == 2 ? 1 : 0;
  dnnl_memory_desc_t desc = nullptr;
  dnnl_memory_desc_create_with_strides(&desc, rank, dims.data() + skip,
                                       dnnl_type(dtype), strides.data() + skip);
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

DnnlAttr make_attr(bool relu) {
  dnnl_primitive_attr_t attr = nullptr;
  if (dnnl_primitive_attr_create(&attr) != dnnl_success) return nullptr;
  DnnlAttr owner(attr);
  dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
  if (relu) {
    dnnl_post_ops_t ops = nullptr;
    if (dnnl_post_ops_create(&ops) != dnnl_success) return nullptr;
    const DnnlPostOps post_ops(ops);
    dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_relu, 0.0f, 0.0f);
    dnnl_primitive_attr_set_post_ops(attr, ops);
  }
  return owner;
}

std::string_view implementation(const DnnlPrimitiveDesc& desc) {
  const char* name = "";
  dnnl_primitive_desc_query(desc.get(), dnnl_query_impl_info_str, 0, &name);
  return name;
}

// These report no scratch and allocate in every call.
bool allocates(std::string_view name) {
  return name.starts_with("gemm") || name.starts_with("ref");
}

// The first implementation that keeps to its scratch, else the first.
DnnlPrimitiveDesc choose(const Operands& all, bool relu) {
  const DnnlAttr attr = make_attr(relu);
  if (!attr || !dnnl_cpu_runtime().ok) return nullptr;
  const auto make = [&] {
    dnnl_primitive_desc_t desc = nullptr;
    const dnnl_status_t status = dnnl_matmul_primitive_desc_create(
        &desc, dnnl_cpu_runtime().engine, all.a.get(), all.b.get(),
        all.bias.get(), all.c.get(), attr.get());
    return DnnlPrimitiveDesc(status == dnnl_success ? desc : nullptr);
  };
  DnnlPrimitiveDesc desc = make();
  while (desc && allocates(implementation(desc))) {
    if (dnnl_primitive_desc_next_impl(desc.get()) != dnnl_success) {
      return make();
    }
  }
  return desc;
}

std::int64_t scratch_bytes(const DnnlPrimitiveDesc& desc) {
  const_dnnl_memory_desc_t scratch =
      dnnl_primitive_desc_query_md(desc.get(), dnnl_query_scratchpad_md, 0);
  return scratch ? static_cast<std::int64_t>(dnnl_memory_desc_get_size(scratch))
                 : 0;
}

std::string name_of(const DnnlPrimitiveDesc& desc, int threads) {
  return fmt::format("matmul:onednn:{}:t{}", implementation(desc), threads);
}

double seconds(std::string_view implementation, double flops, int threads) {
  double rate = best_isa() == Isa::v4 ? kWideFlopsPerSecond : kFlopsPerSecond;
  const auto has = [&](std::string_view part) {
    return implementation.find(part) != std::string_view::npos;
  };
  if (has("amx")) {
    rate *= 8;
  } else if (has("bf16") || has("fp16")) {
    rate *= 1.7;
  }
  if (threads == 1) return kCallSeconds + flops / rate;
  return kCallSeconds + kForkSeconds + flops / (rate * threads);
}

// An implementation that allocates takes copies of what it reorders.
std::int64_t private_bytes(const DnnlPrimitiveDesc& desc,
                           const ProductShape& s) {
  if (!allocates(implementation(desc))) return kPrimitiveBytes;
  return kPrimitiveBytes + 4 * (s.batch * s.m * s.n + s.m * s.k + s.k * s.n);
}

class OnednnProduct final : public Kernel {
 public:
  // Memory objects without memory: launches lend them theirs.
  static Result<std::unique_ptr<Kernel>> make(DnnlPrimitiveDesc desc,
                                              const Operands& all) {
    auto kernel = std::unique_ptr<OnednnProduct>(new OnednnProduct);
    dnnl_primitive_t primitive = nullptr;
    if (dnnl_primitive_create(&primitive, desc.get()) != dnnl_success) {
      return failed("primitive");
    }
    kernel->primitive_.reset(primitive);
    const const_dnnl_memory_desc_t scratch =
        dnnl_primitive_desc_query_md(desc.get(), dnnl_query_scratchpad_md, 0);
    const bool ok = kernel->add(DNNL_ARG_SRC, all.a.get()) &&
                    kernel->add(DNNL_ARG_WEIGHTS, all.b.get()) &&
                    kernel->add(DNNL_ARG_DST, all.c.get()) &&
                    kernel->add(DNNL_ARG_SCRATCHPAD, scratch) &&
                    (!all.bias || kernel->add(DNNL_ARG_BIAS, all.bias.get()));
    if (!ok) return failed("memory");
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    lend(0, args.inputs[0]);
    lend(1, args.inputs[1]);
    lend(2, args.outputs[0]);
    lend(3, args.scratch);
    if (count_ == 5) lend(4, args.inputs[2]);
    const dnnl_status_t status = dnnl_primitive_execute(
        primitive_.get(), dnnl_cpu_runtime().stream, count_, args_.data());
    return status == dnnl_success ? LaunchStatus::ok : LaunchStatus::failed;
  }

 private:
  OnednnProduct() = default;

  static Error failed(std::string_view what) {
    return {ErrorCode::unsupported,
            fmt::format("oneDNN could not make a matmul {}", what)};
  }

  bool add(int arg, const_dnnl_memory_desc_t desc) {
    dnnl_memory_t memory = nullptr;
    if (dnnl_memory_create(&memory, desc, dnnl_cpu_runtime().engine,
                           DNNL_MEMORY_NONE) != dnnl_success) {
      return false;
    }
    const auto at = static_cast<std::size_t>(count_++);
    memories_[at].reset(memory);
    args_[at] = {arg, memory};
    return true;
  }

  void lend(std::size_t at, const void* data) noexcept {
    // The interface takes inputs as mutable; the primitive only reads them.
    dnnl_memory_set_data_handle(memories_[at].get(), const_cast<void*>(data));
  }

  DnnlPrimitive primitive_;
  std::array<DnnlMemory, 5> memories_;
  std::array<dnnl_exec_arg_t, 5> args_{};
  int count_ = 0;
};

}  // namespace

Result<std::vector<graph::KernelCandidate>> onednn_candidates(
    const ProductShape& shape, ProductTypes types, ComputeThreads& threads) {
  std::vector<graph::KernelCandidate> found;
  threads.enter([&] {
    const Operands all = describe(shape, types);
    const DnnlPrimitiveDesc desc = choose(all, shape.relu);
    if (!desc) return;
    // Our own widen blocks of bf16 and f16: that needs no copies.
    const bool half = types.operands != DType::f32;
    if (half && allocates(implementation(desc))) return;
    graph::KernelCandidate candidate;
    candidate.name = name_of(desc, threads.size());
    candidate.scratch_bytes = scratch_bytes(desc);
    candidate.private_bytes = private_bytes(desc, shape);
    candidate.seconds =
        seconds(implementation(desc), shape.flops(), threads.size());
    if (allocates(implementation(desc))) candidate.seconds *= 4;
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
    made = OnednnProduct::make(std::move(desc), all);
  });
  return made;
}

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor,
                     version->patch);
}

}  // namespace plimsoll::ops
