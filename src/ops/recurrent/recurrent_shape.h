// A recurrent op at fixed shapes, as kernels see it.
#pragma once

#include <cstdint>
#include <string_view>

#include "graph/kernel_catalog.h"

namespace plimsoll::ops {

enum class CellKind { lstm, gru };

constexpr std::int64_t gates_of(CellKind kind) {
  return kind == CellKind::lstm ? 4 : 3;
}

struct RecurrentShape {
  CellKind kind = CellKind::lstm;
  bool gradient = false;
  DType dtype = DType::f32;
  std::int64_t batch = 0;
  std::int64_t steps = 0;
  std::int64_t hidden = 0;

  std::int64_t gates() const { return gates_of(kind); }
  std::int64_t width() const { return gates() * hidden; }
  // The one product of a step for all rows, both ways alike.
  double step_flops() const {
    return 2.0 * static_cast<double>(batch) * static_cast<double>(hidden) *
           static_cast<double>(width());
  }
};

inline RecurrentShape recurrent_shape(
    std::string_view op, std::span<const graph::TensorType> inputs) {
  const Shape& first = inputs[0].shape;
  RecurrentShape shape;
  shape.kind = op.starts_with("lstm") ? CellKind::lstm : CellKind::gru;
  shape.gradient = op.ends_with("_grad");
  shape.dtype = inputs[0].dtype;
  shape.batch = first.extent(0);
  shape.steps = first.extent(1);
  shape.hidden = inputs[1].shape.extent(0);
  return shape;
}

}  // namespace plimsoll::ops
