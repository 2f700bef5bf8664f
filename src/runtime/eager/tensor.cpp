#include "plimsoll/tensor.h"

#include <algorithm>
#include <ostream>

#include "ops/movement/movement.h"
#include "ops/movement/window.h"
#include "runtime/eager/dispatch.h"
#include "runtime/eager/invoke.h"
#include "runtime/eager/tensor_value.h"

namespace plimsoll {
namespace {

using runtime::value_of;
using runtime::ValuePtr;

template <class T>
Tensor copied(DType dtype, const std::vector<T>& values, Extents shape) {
  return Tensor::from_bytes(
      dtype, std::move(shape),
      std::as_bytes(std::span<const T>(values.data(), values.size())));
}

// Without a tape looking on.
template <class T>
std::vector<T> converted(const Tensor& tensor, DType dtype, const char* what) {
  ValuePtr value = value_of(tensor, what);
  throw_if_error(runtime::check_in_memory(*value));
  runtime::Eager& eager = *value->home;
  if (value->type.dtype != dtype) {
    std::shared_ptr<runtime::PreparedOp> prepared;
    const ValuePtr from[] = {value};
    value = value_or_throw(eager.apply(ops::cast_op(), from,
                                       {{"dtype", std::string(name_of(dtype))}},
                                       prepared))[0];
  }
  throw_if_error(eager.check_open());
  std::vector<T> numbers(
      static_cast<std::size_t>(value->type.shape.elements()));
  if (!numbers.empty()) {
    throw_if_error(
        eager.read(*value, std::as_writable_bytes(std::span(numbers))));
  }
  return numbers;
}

// Its shape in numbers. A function that asks for it is traced for each batch.
const Shape& fixed_shape(const Tensor& tensor, const char* what) {
  const Shape& shape = value_of(tensor, what)->type.shape;
  if (shape.is_fixed()) return shape;
  throw_error({ErrorCode::bad_input,
               fmt::format("{}: the batch of {}, B, is open while the function "
                           "is traced",
                           what, tensor.value()->type.to_string())});
}

// Extents with the open one, -1, as the elements require it.
Shape closed_shape(const Shape& from, Extents extents) {
  const auto open = std::find(extents.begin(), extents.end(), -1);
  if (open == extents.end()) return runtime::shape_of(extents);
  const auto at = open - extents.begin();
  *open = 1;
  std::vector<Dim> dims = runtime::shape_of(extents).dims();
  std::int64_t others = 1;
  for (const Dim& dim : dims) others *= dim.size;
  std::int64_t elements = 1;
  bool per_batch = false;
  for (const Dim& dim : from.dims()) {
    elements *= dim.size;
    per_batch = per_batch || dim.per_batch;
  }
  dims[static_cast<std::size_t>(at)] =
      Dim(others > 0 ? elements / others : 0, per_batch);
  return Shape(std::move(dims));
}

// A number or a slice of one axis, as starts, stops and steps of all.
struct Window {
  Extents starts, stops, steps;
  Extents shape;  // once numbers' axes are gone and new ones are there
};

std::int64_t clamped(std::int64_t at, std::int64_t low, std::int64_t high) {
  return std::clamp(at, low, high);
}

Window window_of(const Extents& shape, std::span<const Index> index) {
  Window window;
  std::size_t axis = 0;
  for (const Index& one : index) {
    if (one.kind == Index::Kind::newaxis) {
      window.shape.push_back(1);
      continue;
    }
    if (axis == shape.size()) {
      throw_error({ErrorCode::bad_input,
                   fmt::format("too many indices: the tensor has {} axes",
                               shape.size())});
    }
    const std::int64_t extent = shape[axis];
    if (one.kind == Index::Kind::number) {
      const std::int64_t at = one.number < 0 ? one.number + extent : one.number;
      if (at < 0 || at >= extent) {
        throw_error({ErrorCode::bad_input,
                     fmt::format("index {} is outside of axis {}, which has {} "
                                 "elements",
                                 one.number, axis, extent)});
      }
      window.starts.push_back(at);
      window.stops.push_back(at + 1);
      window.steps.push_back(1);
    } else {
      if (one.step < 1) {
        throw_error({ErrorCode::bad_input,
                     fmt::format("a slice's step is {}, but must be at least 1",
                                 one.step)});
      }
      const auto from_end = [&](std::int64_t at) {
        return at < 0 ? at + extent : at;
      };
      const std::int64_t start =
          clamped(from_end(one.start.value_or(0)), 0, extent);
      const std::int64_t stop =
          clamped(from_end(one.stop.value_or(extent)), start, extent);
      window.starts.push_back(start);
      window.stops.push_back(stop);
      window.steps.push_back(one.step);
      window.shape.push_back(stop > start ? (stop - start - 1) / one.step + 1
                                          : 0);
    }
    ++axis;
  }
  for (; axis < shape.size(); ++axis) {
    window.starts.push_back(0);
    window.stops.push_back(shape[axis]);
    window.steps.push_back(1);
    window.shape.push_back(shape[axis]);
  }
  return window;
}

}  // namespace

Shape runtime::shape_of(const Extents& extents) {
  std::vector<Dim> dims;
  for (const std::int64_t extent : extents) {
    if (extent < 0) {
      throw_error(
          {ErrorCode::bad_input,
           fmt::format("an extent is {}, but must be at least 0", extent)});
    }
    dims.emplace_back(extent);
  }
  return Shape(std::move(dims));
}

Index slice(std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
            std::int64_t step) {
  Index index(Index::Kind::slice);
  index.start = start;
  index.stop = stop;
  index.step = step;
  return index;
}

Tensor Tensor::of(const std::vector<float>& values, Extents shape) {
  return copied(DType::f32, values, std::move(shape));
}
Tensor Tensor::of(const std::vector<double>& values, Extents shape) {
  return copied(DType::f64, values, std::move(shape));
}
Tensor Tensor::of(const std::vector<std::int32_t>& values, Extents shape) {
  return copied(DType::i32, values, std::move(shape));
}
Tensor Tensor::of(const std::vector<std::int64_t>& values, Extents shape) {
  return copied(DType::i64, values, std::move(shape));
}

Tensor Tensor::from_bytes(DType dtype, Extents shape,
                          std::span<const std::byte> bytes) {
  const graph::TensorType type{dtype, runtime::shape_of(shape)};
  throw_if_error(runtime::check_bytes(type));
  const std::int64_t elements = type.shape.elements();
  if (static_cast<std::size_t>(elements * size_of(dtype)) != bytes.size()) {
    throw_error(
        {ErrorCode::bad_input,
         fmt::format("{} has {} elements, but {} were given", type.to_string(),
                     elements,
                     bytes.size() / static_cast<std::size_t>(size_of(dtype)))});
  }
  const auto eager = value_or_throw(runtime::current_eager());
  return Tensor(value_or_throw(eager->from_bytes(type, bytes)));
}

DType Tensor::dtype() const { return value_of(*this, "dtype")->type.dtype; }

Extents Tensor::shape() const {
  Extents extents;
  for (const Dim& dim : fixed_shape(*this, "shape").dims()) {
    extents.push_back(dim.size);
  }
  return extents;
}

int Tensor::rank() const { return value_of(*this, "rank")->type.shape.rank(); }

std::int64_t Tensor::size() const {
  return fixed_shape(*this, "size").elements();
}

std::int64_t Tensor::bytes() const {
  return fixed_shape(*this, "bytes").elements() * size_of(dtype());
}

std::vector<float> Tensor::to_floats() const {
  return converted<float>(*this, DType::f32, "to_floats");
}

std::vector<double> Tensor::to_doubles() const {
  return converted<double>(*this, DType::f64, "to_doubles");
}

double Tensor::item() const {
  if (size() != 1) {
    throw_error({ErrorCode::bad_input,
                 fmt::format("item() is for tensors of one element, not of {}",
                             value_->type.to_string())});
  }
  return to_doubles()[0];
}

Tensor Tensor::operator[](std::int64_t row) const { return at({Index(row)}); }

Tensor Tensor::at(const std::vector<Index>& index) const {
  const ValuePtr operands[] = {value_of(*this, "[]")};
  Window window = window_of(shape(), index);
  return Tensor(value_or_throw(
      runtime::invoke_one(operands, [&](graph::Builder& builder, auto ids) {
        return ops::reshape(builder,
                            ops::slice(builder, ids[0], window.starts,
                                       window.stops, window.steps),
                            runtime::shape_of(window.shape));
      })));
}

Tensor Tensor::reshape(Extents shape) const {
  const ValuePtr operands[] = {value_of(*this, "reshape")};
  const Shape closed = closed_shape(operands[0]->type.shape, std::move(shape));
  return Tensor(value_or_throw(
      runtime::invoke_one(operands, [&](graph::Builder& builder, auto ids) {
        return ops::reshape(builder, ids[0], closed);
      })));
}

Tensor Tensor::cast(DType dtype) const {
  const ValuePtr operands[] = {value_of(*this, "cast")};
  if (operands[0]->type.dtype == dtype) return *this;
  return Tensor(value_or_throw(
      runtime::invoke_one(operands, [&](graph::Builder& builder, auto ids) {
        return ops::cast(builder, ids[0], dtype);
      })));
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << tensor.to_string();
}

}  // namespace plimsoll
