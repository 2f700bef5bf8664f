// SIGTERM, SIGINT, SIGUSR1 and SIGHUP ask a training to stop with a checkpoint.
#pragma once

#include <atomic>

namespace plimsoll::cli {

// Installs the handlers; the flag becomes true when one of them arrives. A
// second SIGINT ends the program at once. A reader of the output that goes away
// does not end it: SIGPIPE is ignored from here on.
const std::atomic<bool>& stop_on_signals();

}  // namespace plimsoll::cli
