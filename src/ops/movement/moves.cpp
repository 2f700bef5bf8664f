// What each op of the family moves.
#include "ops/movement/axis_of.h"
#include "ops/movement/element_bits.h"
#include "ops/movement/strided_move.h"
#include "ops/movement/window.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;
using graph::TensorType;

std::vector<std::int64_t> byte_strides(const TensorType& type) {
  std::vector<std::int64_t> strides = row_major_strides(type.shape);
  for (std::int64_t& stride : strides) stride *= size_of(type.dtype);
  return strides;
}

Moves moves_of(DType dtype) {
  Moves moves;
  moves.element_bytes = size_of(dtype);
  return moves;
}

}  // namespace

Moves concat_moves(const KernelQuery& query) {
  const TensorType& whole = query.outputs[0];
  const int axis =
      *axis_of(whole.shape.rank(), query.attrs->get<std::int64_t>("axis"));
  const AroundAxis out = around_axis(whole.shape, axis);
  Moves moves = moves_of(whole.dtype);
  const std::int64_t row = out.inner * moves.element_bytes;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < query.inputs.size(); ++i) {
    StridedMove box;
    box.input = static_cast<int>(i);
    box.to = at;
    box.run = query.inputs[i].shape.extent(axis) * row;
    box.axes = {{out.outer, box.run, out.extent * row}};
    at += box.run;
    moves.add(std::move(box));
  }
  return moves;
}

Moves split_moves(const KernelQuery& query) {
  const TensorType& whole = query.inputs[0];
  const int axis =
      *axis_of(whole.shape.rank(), query.attrs->get<std::int64_t>("axis"));
  const AroundAxis in = around_axis(whole.shape, axis);
  Moves moves = moves_of(whole.dtype);
  const std::int64_t row = in.inner * moves.element_bytes;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < query.outputs.size(); ++i) {
    StridedMove box;
    box.output = static_cast<int>(i);
    box.from = at;
    box.run = query.outputs[i].shape.extent(axis) * row;
    box.axes = {{in.outer, in.extent * row, box.run}};
    at += box.run;
    moves.add(std::move(box));
  }
  return moves;
}

Moves slice_moves(const KernelQuery& query) {
  const TensorType& in = query.inputs[0];
  Moves moves = moves_of(in.dtype);
  const auto window = slice_window(in.shape, *query.attrs);
  if (!window) return moves;  // inference has refused it
  const auto from = byte_strides(in);
  const auto to = byte_strides(query.outputs[0]);
  StridedMove box;
  box.run = moves.element_bytes;
  for (std::size_t i = 0; i < window->size(); ++i) {
    const WindowAxis& axis = (*window)[i];
    box.from += axis.start * from[i];
    box.axes.push_back({axis.count, axis.step * from[i], to[i]});
  }
  moves.add(std::move(box));
  return moves;
}

// The input's elements, and for each axis what lies before them, between them
// and after them; within the axes further out only where elements are.
Moves pad_moves(const KernelQuery& query) {
  const TensorType& in = query.inputs[0];
  Moves moves = moves_of(in.dtype);
  const auto window = pad_window(in.shape, *query.attrs);
  const auto bits = element_bits(in.dtype, query.attrs->get<double>("value"));
  if (!window || !bits) return moves;  // inference has refused it
  moves.fill_bits = *bits;
  const auto from = byte_strides(in);
  const auto to = byte_strides(query.outputs[0]);
  StridedMove outer;
  outer.input = StridedMove::kFill;
  for (std::size_t i = 0; i < window->size(); ++i) {
    const WindowAxis& axis = (*window)[i];
    const auto fill = [&](std::int64_t at, std::int64_t size,
                          std::int64_t times) {
      StridedMove box = outer;
      box.to += at * to[i];
      box.axes.push_back({times, 0, axis.step * to[i]});
      box.run = size * to[i];
      moves.add(std::move(box));
    };
    const std::int64_t end = axis.start + axis.covered();
    fill(0, axis.start, 1);
    if (axis.count > 1) fill(axis.start + 1, axis.step - 1, axis.count - 1);
    fill(end, query.outputs[0].shape.extent(static_cast<int>(i)) - end, 1);
    outer.to += axis.start * to[i];
    outer.axes.push_back({axis.count, from[i], axis.step * to[i]});
  }
  outer.input = 0;
  outer.run = moves.element_bytes;
  moves.add(std::move(outer));
  return moves;
}

Moves expand_moves(const KernelQuery& query) {
  const TensorType& in = query.inputs[0];
  const TensorType& out = query.outputs[0];
  Moves moves = moves_of(in.dtype);
  const auto from = byte_strides(in);
  const auto to = byte_strides(out);
  const auto added =
      static_cast<std::size_t>(out.shape.rank() - in.shape.rank());
  StridedMove box;
  box.run = moves.element_bytes;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const bool repeats = i < added || in.shape.dims()[i - added].size == 1;
    box.axes.push_back({out.shape.extent(static_cast<int>(i)),
                        repeats ? 0 : from[i - added], to[i]});
  }
  moves.add(std::move(box));
  return moves;
}

}  // namespace plimsoll::ops
