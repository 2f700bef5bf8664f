#include "ops/matmul/empty_product.h"

#include <cstring>

#include "base/half.h"

namespace plimsoll::ops {
namespace {

// NaN is not, and stays.
bool is_at_most_zero(DType dtype, const void* value) {
  switch (dtype) {
    case DType::f64:
      return *static_cast<const double*>(value) <= 0;
    case DType::bf16:
      return bf16_to_float(*static_cast<const std::uint16_t*>(value)) <= 0;
    case DType::f16:
      return f16_to_float(*static_cast<const std::uint16_t*>(value)) <= 0;
    default:
      return *static_cast<const float*>(value) <= 0;
  }
}

class EmptyProduct final : public Kernel {
 public:
  EmptyProduct(const ProductShape& shape, DType output)
      : output_(output),
        rows_(shape.batch * shape.m),
        columns_(shape.n),
        bias_(shape.bias),
        relu_(shape.relu) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const std::int64_t size = size_of(output_);
    auto* to = static_cast<std::byte*>(args.outputs[0]);
    std::memset(to, 0, static_cast<std::size_t>(rows_ * columns_ * size));
    if (!bias_) return LaunchStatus::ok;
    const auto* const bias = static_cast<const std::byte*>(args.inputs[2]);
    for (std::int64_t i = 0; i < rows_ * columns_; ++i, to += size) {
      const std::byte* const from = bias + i % columns_ * size;
      if (relu_ && is_at_most_zero(output_, from)) continue;
      std::memcpy(to, from, static_cast<std::size_t>(size));
    }
    return LaunchStatus::ok;
  }

 private:
  DType output_;
  std::int64_t rows_;
  std::int64_t columns_;
  bool bias_;
  bool relu_;
};

}  // namespace

std::unique_ptr<Kernel> make_empty_product(const ProductShape& shape,
                                           ProductTypes types) {
  return std::make_unique<EmptyProduct>(shape, types.output);
}

}  // namespace plimsoll::ops
