// Tensors that change: weights of a loop that is written by hand.
//   pl::Variable w(pl::zeros({100, 1}), "w");
//   pl::GradientTape tape;
//   auto loss = pl::mean_squared_error(y, pl::matmul(x, w));
//   w.assign_sub(0.01 * tape.gradient(loss, w));
// A variable is a handle: copies are the same variable. A tensor that was read
// from it keeps the numbers of then.
#pragma once

#include <string>

#include "plimsoll/tensor.h"

namespace plimsoll {

namespace runtime {
struct VariableCell;
}

class Variable {
 public:
  Variable() = default;  // none
  // Trainable ones are watched by every tape that is there when they are read.
  explicit Variable(Tensor initial, std::string name = "variable",
                    bool trainable = true);
  explicit Variable(std::shared_ptr<runtime::VariableCell> cell)
      : cell_(std::move(cell)) {}

  // What it is now.
  Tensor value() const;
  operator Tensor() const { return value(); }

  // Type and shape must be those that it has. Where nobody holds the old value,
  // its memory goes back.
  void assign(Tensor value);
  void assign_add(const Tensor& by);
  void assign_sub(const Tensor& by);

  bool defined() const { return cell_ != nullptr; }
  const std::string& name() const;
  bool trainable() const;
  DType dtype() const;
  Extents shape() const;

  const std::shared_ptr<runtime::VariableCell>& cell() const { return cell_; }

 private:
  std::shared_ptr<runtime::VariableCell> cell_;
};

}  // namespace plimsoll
