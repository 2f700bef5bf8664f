// What stands behind a public tensor.
#pragma once

#include <fmt/core.h>

#include "base/throw_error.h"
#include "plimsoll/tensor.h"
#include "runtime/eager/value.h"

namespace plimsoll::runtime {

// Throws where there is none.
inline const ValuePtr& value_of(const Tensor& tensor, const char* what) {
  if (tensor.defined()) return tensor.value();
  throw_error(
      {ErrorCode::bad_input, fmt::format("{}: the tensor is empty", what)});
}

Shape shape_of(const Extents& extents);

}  // namespace plimsoll::runtime
