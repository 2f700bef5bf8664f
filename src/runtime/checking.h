// Runs a program one launch at a time and distrusts every byte: dead ranges
// are poisoned, writes outside a launch's own outputs and scratch are found,
// and values must reach their readers unchanged. One mapping would otherwise
// hide every overflow inside it.
#pragma once

#include "runtime/program.h"

namespace plimsoll::runtime {

// Ok, or the first launch that broke a rule, with the range it touched. Slow:
// looks at the whole arena around each launch.
Status run_checked(Program& program);

}  // namespace plimsoll::runtime
