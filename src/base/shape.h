// Shapes whose dimensions are integers or multiples of the batch symbol B.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/result.h"

namespace plimsoll {

struct Dim {
  std::int64_t size = 0;
  bool per_batch = false;  // the extent is size * B

  constexpr Dim() = default;
  constexpr Dim(std::int64_t extent) : size(extent) {}
  constexpr Dim(std::int64_t multiple, bool of_batch)
      : size(multiple), per_batch(of_batch) {}

  static constexpr Dim batch(std::int64_t multiple = 1) {
    return Dim(multiple, true);
  }
  constexpr std::int64_t at(std::int64_t batch) const {
    return per_batch ? size * batch : size;
  }
  friend bool operator==(const Dim&, const Dim&) = default;
};

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<Dim> dims) : dims_(dims) {}
  explicit Shape(std::vector<Dim> dims) : dims_(std::move(dims)) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  const Dim& operator[](int axis) const {
    return dims_[static_cast<std::size_t>(axis)];
  }
  // The extent of a fixed dimension; negative axes count from the end.
  std::int64_t extent(int axis) const {
    return dims_[static_cast<std::size_t>(axis < 0 ? axis + rank() : axis)]
        .size;
  }
  const std::vector<Dim>& dims() const { return dims_; }

  bool is_fixed() const;
  // The same shape with B replaced by `batch`.
  Shape at(std::int64_t batch) const;
  // Number of elements; the shape must be fixed and known not to overflow.
  std::int64_t elements() const;
  // Number of elements, or an error when an extent is negative or it passes
  // 2^62.
  Result<std::int64_t> checked_elements(std::int64_t batch) const;
  // Whether both hold the same number of elements for every batch.
  bool same_elements(const Shape& other) const;

  std::string to_string() const;  // "[B, 128]"

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<Dim> dims_;
};

// NumPy's broadcasting of two shapes.
Result<Shape> broadcast(const Shape& a, const Shape& b);
// Row-major strides, in elements, of a fixed shape.
std::vector<std::int64_t> row_major_strides(const Shape& shape);

}  // namespace plimsoll
