// What every generated kernel begins with: types, conversions, sums over teams
// of threads, the element-wise vocabulary and random numbers. It includes
// nothing, so that a compiler library alone suffices.
#pragma once

#include <string_view>

namespace plimsoll::ops {

std::string_view cuda_prelude();

}  // namespace plimsoll::ops
