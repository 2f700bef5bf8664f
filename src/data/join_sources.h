// Several sources as one: side by side, one after another, or in turns.
#pragma once

#include "data/pipeline.h"

namespace plimsoll::data {

// `zip`, `concatenate` and `interleave`, each input with its own stages. What
// can be read by number stays so.
Result<Source> join_sources(const Recipe& recipe,
                            const PipelineOptions& options);

}  // namespace plimsoll::data
