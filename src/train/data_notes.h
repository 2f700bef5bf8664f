// What a plan says about its data that people may not expect.
#pragma once

#include <string>
#include <vector>

#include "train/job_data.h"

namespace plimsoll::train {

std::vector<std::string> notes_on_data(const JobSpec& job, const JobData& data);

}  // namespace plimsoll::train
