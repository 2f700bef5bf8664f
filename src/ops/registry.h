// Every op the system knows, one line each in registry.cpp.
#pragma once

#include <span>
#include <string_view>

#include "graph/op_def.h"

namespace plimsoll::ops {

std::span<const graph::OpDef* const> all_ops();
const graph::OpDef* find_op(std::string_view name);

}  // namespace plimsoll::ops
