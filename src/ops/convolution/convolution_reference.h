#pragma once

#include <span>

#include "ops/reference.h"

namespace plimsoll::ops {

std::span<const Reference> convolution_references();

}  // namespace plimsoll::ops
