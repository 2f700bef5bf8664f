#pragma once

#include <span>

#include "ops/reference.h"

namespace plimsoll::ops {

std::span<const Reference> reduction_references();

}  // namespace plimsoll::ops
