#include "plimsoll/variable.h"

#include "runtime/eager/tensor_value.h"
#include "runtime/eager/variable_cell.h"

namespace plimsoll {
namespace {

// The handle gives up its value: what nobody else holds is not copied.
runtime::ValuePtr taken(Tensor& tensor, const char* what) {
  runtime::ValuePtr value = runtime::value_of(tensor, what);
  tensor = Tensor();
  return value;
}

}  // namespace

Variable::Variable(Tensor initial, std::string name, bool trainable)
    : cell_(value_or_throw(
          runtime::make_variable(taken(initial, "Variable"), std::move(name),
                                 graph::Role::parameter, trainable))) {}

Tensor Variable::value() const {
  return Tensor(value_or_throw(
      runtime::read_variable(runtime::cell_of(*this, "Variable::value"))));
}

void Variable::assign(Tensor value) {
  const auto& cell = runtime::cell_of(*this, "Variable::assign");
  throw_if_error(
      runtime::assign_variable(cell, taken(value, "Variable::assign")));
}

void Variable::assign_add(const Tensor& by) { assign(value() + by); }
void Variable::assign_sub(const Tensor& by) { assign(value() - by); }

const std::string& Variable::name() const {
  return runtime::cell_of(*this, "Variable::name")->name;
}
bool Variable::trainable() const {
  return runtime::cell_of(*this, "Variable::trainable")->trainable;
}
DType Variable::dtype() const {
  return runtime::cell_of(*this, "Variable::dtype")->value->type.dtype;
}
Extents Variable::shape() const {
  return Tensor(runtime::cell_of(*this, "Variable::shape")->value).shape();
}

}  // namespace plimsoll
