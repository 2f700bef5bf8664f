// What families share of oneDNN: attributes, the choice among implementations,
// and a primitive as a kernel.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>

#include "ops/kernel.h"
#include "ops/onednn/onednn_handles.h"

namespace plimsoll::ops {

// What a primitive keeps besides the scratch it reports: generated code and
// descriptors. Over 192 products with bias and relu the resident set grew by
// 155 KiB a primitive, 350 KiB at most.
inline constexpr std::int64_t kOnednnPrimitiveBytes = 256 * 1024;

dnnl_data_type_t onednn_type(DType dtype);

// Scratch is ours; relu is applied to the result.
DnnlAttr onednn_attr(bool relu);

std::string_view onednn_implementation(const DnnlPrimitiveDesc& desc);
// Such implementations report no scratch and allocate in every call.
bool onednn_allocates(std::string_view implementation);
// Whether the library can hold these: it cuts larger ones to 32 bits, and
// divides by what is left.
bool onednn_counts(std::initializer_list<std::int64_t> extents);
std::int64_t onednn_scratch_bytes(const DnnlPrimitiveDesc& desc);

// The first implementation that `good` takes; null where none is.
template <class Good>
DnnlPrimitiveDesc onednn_first(DnnlPrimitiveDesc desc, const Good& good) {
  while (desc && !good(desc)) {
    if (dnnl_primitive_desc_next_impl(desc.get()) != dnnl_success) {
      return nullptr;
    }
  }
  return desc;
}

// An operand of a primitive and the op's input or output that it is.
struct OnednnOperand {
  enum class Of : std::uint8_t { input, output };
  int arg = 0;  // DNNL_ARG_...
  const_dnnl_memory_desc_t desc = nullptr;
  Of of = Of::input;
  int number = 0;
};
Result<std::unique_ptr<Kernel>> make_onednn_kernel(
    const DnnlPrimitiveDesc& desc, std::span<const OnednnOperand> operands);

}  // namespace plimsoll::ops
