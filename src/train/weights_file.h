// A model's weights in a safetensors file: its parameters and statistics by
// the names that checkpoints have, streamed between file and memory.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "io/safetensors.h"
#include "train/running_job.h"

namespace plimsoll::train {

// Pieces of the states by their positions, as RunningJob has them.
using ReadState = std::function<Result<std::span<const std::byte>>(
    std::size_t index, std::int64_t offset, std::int64_t bytes)>;
using FillState =
    std::function<Status(std::size_t index, const RunningJob::FillPiece& fill)>;

Status save_weights(const std::string& path,
                    std::span<const plan::StateNeed> states,
                    const ReadState& read);

// The file must have every weight of `states` with its type. It may have
// nothing else, unless it is a checkpoint. The error says what is missing, not
// expected or of another type.
Status check_weights(const io::SafetensorsFile& file,
                     std::span<const plan::StateNeed> states);

// After check_weights().
Status fill_weights(const io::SafetensorsFile& file,
                    std::span<const plan::StateNeed> states,
                    const FillState& fill);

}  // namespace plimsoll::train
