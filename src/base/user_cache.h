// Where what was measured or compiled is kept for later runs.
#pragma once

#include <filesystem>

namespace plimsoll {

// $XDG_CACHE_HOME/plimsoll, or ~/.cache/plimsoll; empty: there is neither.
std::filesystem::path user_cache_folder();

}  // namespace plimsoll
