// Data whose partial batches are left out, and that has no full one.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "train/job_data.h"

namespace plimsoll::train {

// Where the examples were counted: before anything runs. `where` comes before
// the data's description.
Status check_full_batch(const JobSpec& job, const JobInput& input,
                        std::string_view where);

// Where they were not: after a run that has seen so many.
Status check_not_empty(std::int64_t examples, std::int64_t batch);

}  // namespace plimsoll::train
