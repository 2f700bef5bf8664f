// Arguments as a shell would take them, for commands that people copy.
#pragma once

#include <string>
#include <vector>

namespace plimsoll::cli {

std::string shell_quote(const std::string& argument);
std::string shell_join(const std::vector<std::string>& arguments);

}  // namespace plimsoll::cli
