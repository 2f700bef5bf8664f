// The commands: each reads its input, calls into the library and prints.
// They return the program's exit code.
#pragma once

#include "cli/command_line.h"

namespace plimsoll::cli {

int run(const Message& message);
int run(const DevicesCommand& command);
int run(const PlanCommand& command);
int run(const TrainCommand& command);
int run(const WatchCommand& command);
int run(const CalibrateCommand& command);
int run(const CompileKernelCommand& command);

}  // namespace plimsoll::cli
