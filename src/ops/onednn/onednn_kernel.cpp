#include "ops/onednn/onednn_kernel.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>

#include "ops/cpu_kernels.h"

namespace plimsoll::ops {
namespace {

using Of = OnednnOperand::Of;

class OnednnKernel final : public Kernel {
 public:
  // Memory objects without memory: launches lend them theirs.
  static Result<std::unique_ptr<Kernel>> make(
      const DnnlPrimitiveDesc& desc, std::span<const OnednnOperand> operands) {
    auto kernel = std::unique_ptr<OnednnKernel>(new OnednnKernel);
    dnnl_primitive_t primitive = nullptr;
    bool ok = dnnl_primitive_create(&primitive, desc.get()) == dnnl_success;
    kernel->primitive_.reset(primitive);
    ok = ok && operands.size() < kMostArgs &&
         kernel->add({DNNL_ARG_SCRATCHPAD,
                      dnnl_primitive_desc_query_md(
                          desc.get(), dnnl_query_scratchpad_md, 0)});
    for (const OnednnOperand& operand : operands) {
      ok = ok && kernel->add(operand);
    }
    if (ok) return std::unique_ptr<Kernel>(std::move(kernel));
    return Error{ErrorCode::unsupported,
                 fmt::format("oneDNN could not make a primitive by {}",
                             onednn_implementation(desc))};
  }

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    lend(0, args.scratch);
    for (int i = 1; i < count_; ++i) {
      const auto [of, number] = sources_[static_cast<std::size_t>(i)];
      lend(i, of == Of::input ? args.inputs[number] : args.outputs[number]);
    }
    const dnnl_status_t status = dnnl_primitive_execute(
        primitive_.get(), dnnl_cpu_runtime().stream, count_, args_.data());
    return status == dnnl_success ? LaunchStatus::ok : LaunchStatus::failed;
  }

 private:
  static constexpr std::size_t kMostArgs = 6;

  OnednnKernel() = default;

  bool add(const OnednnOperand& operand) {
    dnnl_memory_t memory = nullptr;
    if (dnnl_memory_create(&memory, operand.desc, dnnl_cpu_runtime().engine,
                           DNNL_MEMORY_NONE) != dnnl_success) {
      return false;
    }
    const auto at = static_cast<std::size_t>(count_++);
    memories_[at].reset(memory);
    args_[at] = {operand.arg, memory};
    sources_[at] = {operand.of, operand.number};
    return true;
  }

  void lend(int at, const void* data) noexcept {
    // The interface takes inputs as mutable; the primitive only reads them.
    dnnl_memory_set_data_handle(memories_[static_cast<std::size_t>(at)].get(),
                                const_cast<void*>(data));
  }

  DnnlPrimitive primitive_;
  std::array<DnnlMemory, kMostArgs> memories_;
  std::array<dnnl_exec_arg_t, kMostArgs> args_{};
  std::array<std::pair<Of, int>, kMostArgs> sources_{};
  int count_ = 0;
};

}  // namespace

dnnl_data_type_t onednn_type(DType dtype) {
  return dtype == DType::bf16  ? dnnl_bf16
         : dtype == DType::f16 ? dnnl_f16
                               : dnnl_f32;
}

DnnlAttr onednn_attr(bool relu) {
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

std::string_view onednn_implementation(const DnnlPrimitiveDesc& desc) {
  const char* name = "";
  dnnl_primitive_desc_query(desc.get(), dnnl_query_impl_info_str, 0, &name);
  return name;
}

bool onednn_allocates(std::string_view implementation) {
  // "gemm:jit", "x64:gemm", "ip:any+gemm:jit"; not "brgemm".
  const std::size_t gemm = implementation.find("gemm");
  const bool is_gemm =
      gemm != implementation.npos &&
      (gemm == 0 || implementation.substr(0, gemm).back() != 'r');
  return is_gemm || implementation.starts_with("ref") ||
         implementation.starts_with("ip:");
}

bool onednn_counts(std::initializer_list<std::int64_t> extents) {
  return std::all_of(extents.begin(), extents.end(), [](std::int64_t extent) {
    return extent <= std::numeric_limits<std::int32_t>::max();
  });
}

std::int64_t onednn_scratch_bytes(const DnnlPrimitiveDesc& desc) {
  const_dnnl_memory_desc_t scratch =
      dnnl_primitive_desc_query_md(desc.get(), dnnl_query_scratchpad_md, 0);
  return scratch ? static_cast<std::int64_t>(dnnl_memory_desc_get_size(scratch))
                 : 0;
}

Result<std::unique_ptr<Kernel>> make_onednn_kernel(
    const DnnlPrimitiveDesc& desc, std::span<const OnednnOperand> operands) {
  return OnednnKernel::make(desc, operands);
}

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor,
                     version->patch);
}

}  // namespace plimsoll::ops
