// Counts this program's calls of malloc and its kin, by who called.
#pragma once

#include <cstdint>
#include <string>

namespace plimsoll::testing {

// Learns which modules are loaded. oneDNN, oneTBB and what they bring along
// are libraries; everything else is ours, the C and C++ libraries included,
// since they allocate on our behalf.
void learn_modules();

// Calls are counted from start to stop, on every thread.
void start_counting();
void stop_counting();

std::int64_t own_calls();
std::int64_t library_calls();
// Where our first few calls came from, one line each.
std::string own_callers();

}  // namespace plimsoll::testing
