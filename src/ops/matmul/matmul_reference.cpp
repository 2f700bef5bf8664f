#include "ops/matmul/matmul_reference.h"

#include <algorithm>

namespace plimsoll::ops {
namespace {

// Straight from the definition: one sum an element, by full indices.
void run(const std::vector<RefTensor>& inputs, const graph::Attrs& attrs,
         std::vector<RefTensor>& outputs) {
  const Shape& a_shape = inputs[0].type.shape;
  const Shape& b_shape = inputs[1].type.shape;
  const bool ta = attrs.get<bool>("transpose_a");
  const bool tb = attrs.get<bool>("transpose_b");
  const std::int64_t m = outputs[0].type.shape.extent(-2);
  const std::int64_t n = outputs[0].type.shape.extent(-1);
  const std::int64_t k = a_shape.extent(ta ? -2 : -1);
  const std::int64_t batches = outputs[0].type.shape.elements() / (m * n);
  const auto at = [](const RefTensor& tensor, std::int64_t index) {
    return tensor.values[static_cast<std::size_t>(index)];
  };
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const std::int64_t a0 = a_shape.rank() > 2 ? batch * m * k : 0;
    const std::int64_t b0 = b_shape.rank() > 2 ? batch * k * n : 0;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = inputs.size() > 2 ? at(inputs[2], j) : 0.0;
        for (std::int64_t p = 0; p < k; ++p) {
          sum += at(inputs[0], a0 + (ta ? p * m + i : i * k + p)) *
                 at(inputs[1], b0 + (tb ? j * k + p : p * n + j));
        }
        if (attrs.get<std::string>("activation") == "relu") {
          sum = std::max(sum, 0.0);
        }
        outputs[0].values[static_cast<std::size_t>((batch * m + i) * n + j)] =
            sum;
      }
    }
  }
}

constexpr Reference kReferences[] = {{"matmul", run}};

}  // namespace

std::span<const Reference> matmul_references() { return kReferences; }

}  // namespace plimsoll::ops
