#pragma once

#include <span>

#include "ops/reference.h"

namespace plimsoll::ops {

std::span<const Reference> pooling_references();

}  // namespace plimsoll::ops
