// SIGTERM, SIGINT and SIGUSR1 ask a training to stop with a checkpoint.
#pragma once

#include <atomic>

namespace plimsoll::cli {

// Installs the handlers; the flag becomes true when one of them arrives. A
// second SIGINT ends the program at once.
const std::atomic<bool>& stop_on_signals();

}  // namespace plimsoll::cli
