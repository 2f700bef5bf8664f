#include "base/shape.h"

#include <fmt/core.h>

#include <algorithm>

namespace plimsoll {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 62;

std::string dim_name(const Dim& dim) {
  if (!dim.per_batch) return fmt::format("{}", dim.size);
  return dim.size == 1 ? "B" : fmt::format("{}B", dim.size);
}

}  // namespace

bool Shape::is_fixed() const {
  return std::none_of(dims_.begin(), dims_.end(),
                      [](const Dim& dim) { return dim.per_batch; });
}

Shape Shape::at(std::int64_t batch) const {
  std::vector<Dim> fixed;
  fixed.reserve(dims_.size());
  for (const Dim& dim : dims_) fixed.emplace_back(dim.at(batch));
  return Shape(std::move(fixed));
}

std::int64_t Shape::elements() const {
  std::int64_t count = 1;
  for (const Dim& dim : dims_) count *= dim.size;
  return count;
}

Result<std::int64_t> Shape::checked_elements(std::int64_t batch) const {
  std::int64_t count = 1;
  for (const Dim& dim : dims_) {
    std::int64_t extent = dim.size;
    if (extent < 0) {
      return Error{ErrorCode::bad_input,
                   fmt::format("shape {} has a negative extent", to_string())};
    }
    if ((dim.per_batch && __builtin_mul_overflow(extent, batch, &extent)) ||
        __builtin_mul_overflow(count, extent, &count) ||
        count > kMostElements) {
      return Error{
          ErrorCode::bad_input,
          fmt::format("shape {} has more than 2^62 elements", to_string())};
    }
  }
  return count;
}

bool Shape::same_elements(const Shape& other) const {
  const auto symbolic_size = [](const Shape& shape) {
    // Wraps around where no memory holds it: refused elsewhere, by its size.
    std::uint64_t product = 1;
    int batches = 0;
    for (const Dim& dim : shape.dims_) {
      product *= static_cast<std::uint64_t>(dim.size);
      batches += dim.per_batch ? 1 : 0;
    }
    return std::pair(product, batches);
  };
  return symbolic_size(*this) == symbolic_size(other);
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    if (i > 0) text += ", ";
    text += dim_name(dims_[i]);
  }
  return text + "]";
}

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::vector<Dim> dims(static_cast<std::size_t>(rank));
  for (int i = 1; i <= rank; ++i) {
    const Dim x = i <= a.rank() ? a[a.rank() - i] : Dim(1);
    const Dim y = i <= b.rank() ? b[b.rank() - i] : Dim(1);
    Dim& out = dims[static_cast<std::size_t>(rank - i)];
    if (x == y || y == Dim(1)) {
      out = x;
    } else if (x == Dim(1)) {
      out = y;
    } else {
      return Error{ErrorCode::bad_input,
                   fmt::format("shapes {} and {} cannot be broadcast together",
                               a.to_string(), b.to_string())};
    }
  }
  return Shape(std::move(dims));
}

std::vector<std::int64_t> row_major_strides(const Shape& shape) {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(shape.rank()), 1);
  for (int i = shape.rank() - 2; i >= 0; --i) {
    strides[static_cast<std::size_t>(i)] =
        strides[static_cast<std::size_t>(i) + 1] * shape.extent(i + 1);
  }
  return strides;
}

}  // namespace plimsoll
