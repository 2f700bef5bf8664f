// Variables of the environment.
#pragma once

#include <optional>
#include <string>

namespace plimsoll {

// Empty is as good as not set.
std::optional<std::string> environment_text(const char* name);

}  // namespace plimsoll
