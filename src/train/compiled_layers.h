// What layers that a CUDA library compiles in the process cost its memory, for
// jobs whose own work is not measured.
#pragma once

#include <cstdint>
#include <span>

#include "train/planned_job.h"

namespace plimsoll::train {

std::int64_t compiled_layer_bytes(std::span<const PlannedProgram> programs);

}  // namespace plimsoll::train
