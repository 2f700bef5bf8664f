// What stands behind a public tensor.
#pragma once

#include <fmt/core.h>

#include "base/throw_error.h"
#include "plimsoll/tensor.h"
#include "plimsoll/variable.h"
#include "runtime/eager/value.h"

namespace plimsoll::runtime {

// Throws where there is none.
inline const ValuePtr& value_of(const Tensor& tensor, const char* what) {
  if (tensor.defined()) return tensor.value();
  throw_error(
      {ErrorCode::bad_input, fmt::format("{}: the tensor is empty", what)});
}

inline const std::shared_ptr<VariableCell>& cell_of(const Variable& variable,
                                                    const char* what) {
  if (variable.defined()) return variable.cell();
  throw_error(
      {ErrorCode::bad_input, fmt::format("{}: the variable is empty", what)});
}

Shape shape_of(const Extents& extents);

}  // namespace plimsoll::runtime
