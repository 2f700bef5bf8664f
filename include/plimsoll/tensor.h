// Tensors that are computed at once, under the line of a session:
//   pl::Session session({.host = "1GiB"});
//   auto a = pl::random_normal({100, 10}, 1);
//   auto b = pl::matmul(a, pl::transpose(a)) + 1.0;
//   std::cout << pl::sum(b) << "\n";
// A tensor is a handle: copies share the value, which never changes. Its memory
// goes back when the last handle goes. Everything throws Exception: bad_input
// for shapes that do not fit (it names them), over_budget where the line would
// be passed; whatever was there before is then as it was. Tensors of a session
// are computed by one thread at a time. Integers and booleans are indices and
// labels: arithmetic is of floating types.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plimsoll/dtype.h"

namespace plimsoll {

namespace runtime {
struct Value;
}

using Extents = std::vector<std::int64_t>;

// One axis of an index, as in NumPy: a number takes the axis away, a slice
// keeps it, `newaxis` makes one.
struct Index {
  enum class Kind : std::uint8_t { number, slice, newaxis };
  Kind kind = Kind::slice;
  std::int64_t number = 0;
  std::optional<std::int64_t> start, stop;
  std::int64_t step = 1;

  Index(std::int64_t at) : kind(Kind::number), number(at) {}
  Index(int at) : Index(std::int64_t{at}) {}
  Index(Kind of_kind) : kind(of_kind) {}
};
Index slice(std::optional<std::int64_t> start = {},
            std::optional<std::int64_t> stop = {}, std::int64_t step = 1);
inline const Index newaxis{Index::Kind::newaxis};

class Tensor {
 public:
  Tensor() = default;  // none
  explicit Tensor(std::shared_ptr<const runtime::Value> value)
      : value_(std::move(value)) {}

  // Copies of the numbers, row by row. Without a shape: one axis.
  static Tensor of(const std::vector<float>& values, Extents shape);
  static Tensor of(const std::vector<double>& values, Extents shape);
  static Tensor of(const std::vector<std::int32_t>& values, Extents shape);
  static Tensor of(const std::vector<std::int64_t>& values, Extents shape);
  // Any type, from its bytes in memory.
  static Tensor from_bytes(DType dtype, Extents shape,
                           std::span<const std::byte> bytes);

  // Whether it is one: a default tensor, or the gradient of what nothing
  // depends on, is not.
  bool defined() const { return value_ != nullptr; }
  DType dtype() const;
  Extents shape() const;
  int rank() const;
  std::int64_t size() const;   // elements
  std::int64_t bytes() const;  // of memory

  // Copies, converted.
  std::vector<float> to_floats() const;
  std::vector<double> to_doubles() const;
  // Of a tensor with one element.
  double item() const;
  // As NumPy prints it.
  std::string to_string() const;

  // x[2], x[{1, pl::slice(0, 3)}], x[{pl::slice(), pl::newaxis}]
  Tensor operator[](std::initializer_list<Index> index) const {
    return at(index);
  }
  Tensor operator[](std::int64_t row) const;
  Tensor at(const std::vector<Index>& index) const;

  Tensor reshape(Extents shape) const;  // one extent may be -1
  Tensor cast(DType dtype) const;

  const std::shared_ptr<const runtime::Value>& value() const { return value_; }

 private:
  std::shared_ptr<const runtime::Value> value_;
};

std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

// Operands broadcast by NumPy's rules; of two types the wider one is taken, and
// plain numbers take the tensor's.
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator+(const Tensor& a, double b);
Tensor operator-(const Tensor& a, double b);
Tensor operator*(const Tensor& a, double b);
Tensor operator/(const Tensor& a, double b);
Tensor operator+(double a, const Tensor& b);
Tensor operator-(double a, const Tensor& b);
Tensor operator*(double a, const Tensor& b);
Tensor operator/(double a, const Tensor& b);
Tensor operator-(const Tensor& a);
Tensor& operator+=(Tensor& a, const Tensor& b);
Tensor& operator-=(Tensor& a, const Tensor& b);
Tensor& operator*=(Tensor& a, const Tensor& b);
Tensor& operator/=(Tensor& a, const Tensor& b);

}  // namespace plimsoll
