#include "tensor/tensor.h"

#include <fmt/core.h>

#include <utility>

namespace plimsoll::tensor {
namespace {

Error bad(std::string message) {
  return {ErrorCode::bad_input, std::move(message)};
}

// Elements of a fixed shape whose bytes also fit in a number.
Result<std::int64_t> count_elements(DType dtype, const Shape& shape) {
  if (!shape.is_fixed()) {
    return bad(
        fmt::format("a tensor needs a fixed shape, not {}", shape.to_string()));
  }
  PLIMSOLL_ASSIGN(const std::int64_t count, shape.checked_elements(1));
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(count, size_of(dtype), &bytes)) {
    return bad(fmt::format("{} elements of {} are too many bytes", count,
                           name_of(dtype)));
  }
  return count;
}

}  // namespace

Result<Tensor> Tensor::allocate(MemorySource& source, Ledger& ledger,
                                Holding holding, DType dtype, Shape shape) {
  PLIMSOLL_ASSIGN(const std::int64_t count, count_elements(dtype, shape));
  holding.bytes = count * size_of(dtype);
  PLIMSOLL_ASSIGN(auto storage,
                  Storage::allocate(source, ledger, std::move(holding)));
  return view(std::move(storage), 0, dtype, std::move(shape));
}

Result<Tensor> Tensor::view(std::shared_ptr<Storage> storage,
                            std::int64_t offset_bytes, DType dtype,
                            Shape shape) {
  PLIMSOLL_ASSIGN(const std::int64_t count, count_elements(dtype, shape));
  const std::int64_t bytes = count * size_of(dtype);
  if (storage == nullptr || offset_bytes < 0 ||
      offset_bytes > storage->bytes() ||
      bytes > storage->bytes() - offset_bytes) {
    return bad(fmt::format(
        "a view of {} bytes at {} lies outside its storage "
        "of {} bytes",
        bytes, offset_bytes, storage == nullptr ? 0 : storage->bytes()));
  }
  Tensor tensor;
  tensor.data_ =
      storage->data() == nullptr ? nullptr : storage->data() + offset_bytes;
  if (reinterpret_cast<std::uintptr_t>(tensor.data_) %
          static_cast<std::uintptr_t>(size_of(dtype)) !=
      0) {
    return bad(fmt::format("a view of {} at byte {} is not aligned",
                           name_of(dtype), offset_bytes));
  }
  tensor.storage_ = std::move(storage);
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.elements_ = count;
  return tensor;
}

Result<Tensor> Tensor::reshape(Shape shape) const {
  PLIMSOLL_ASSIGN(const std::int64_t count, count_elements(dtype_, shape));
  if (count != elements_) {
    return bad(fmt::format("shape {} cannot become {}", shape_.to_string(),
                           shape.to_string()));
  }
  Tensor same = *this;
  same.shape_ = std::move(shape);
  return same;
}

Result<Tensor> Tensor::rows(std::int64_t begin, std::int64_t end) const {
  if (shape_.rank() == 0 || begin < 0 || begin > end ||
      end > shape_.extent(0)) {
    return bad(fmt::format("rows [{}, {}) lie outside shape {}", begin, end,
                           shape_.to_string()));
  }
  std::vector<Dim> dims = shape_.dims();
  dims[0] = Dim(end - begin);
  Tensor part = *this;
  part.shape_ = Shape(std::move(dims));
  part.elements_ = part.shape_.elements();
  const std::int64_t row_elements =
      shape_.extent(0) == 0 ? 0 : elements_ / shape_.extent(0);
  if (part.data_ != nullptr) {
    part.data_ += begin * row_elements * size_of(dtype_);
  }
  return part;
}

}  // namespace plimsoll::tensor
