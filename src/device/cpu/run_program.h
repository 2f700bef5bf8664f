// Runs a program to its end and takes what it prints: no shell in between.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace plimsoll {

// `command[0]` is a path. An exit code other than 0 is an error that carries
// what the program said on its error output.
Result<std::string> output_of(const std::vector<std::string>& command);

}  // namespace plimsoll
