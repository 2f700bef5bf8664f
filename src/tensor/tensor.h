// A shaped, dense, row-major view over storage. Copies share the bytes.
#pragma once

#include <memory>

#include "base/dtype.h"
#include "base/shape.h"
#include "tensor/storage.h"

namespace plimsoll::tensor {

class Tensor {
 public:
  Tensor() = default;

  // Storage of its own; `holding.bytes` is set from dtype and shape.
  static Result<Tensor> allocate(MemorySource& source, Ledger& ledger,
                                 Holding holding, DType dtype, Shape shape);
  // A view that must lie inside the storage, aligned for its dtype.
  static Result<Tensor> view(std::shared_ptr<Storage> storage,
                             std::int64_t offset_bytes, DType dtype,
                             Shape shape);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t elements() const { return elements_; }
  std::int64_t bytes() const { return elements_ * size_of(dtype_); }
  const std::shared_ptr<Storage>& storage() const { return storage_; }

  std::byte* data() const { return data_; }
  template <class T>
  T* data_as() const {
    return reinterpret_cast<T*>(data_);
  }

  // The same bytes in another shape of as many elements.
  Result<Tensor> reshape(Shape shape) const;
  // Rows [begin, end) of the first axis.
  Result<Tensor> rows(std::int64_t begin, std::int64_t end) const;

 private:
  std::shared_ptr<Storage> storage_;
  std::byte* data_ = nullptr;
  DType dtype_ = DType::f32;
  Shape shape_ = {0};
  std::int64_t elements_ = 0;
};

}  // namespace plimsoll::tensor
