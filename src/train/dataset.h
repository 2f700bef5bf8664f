// From the public recipe of a data set to what a job reads.
#pragma once

#include "plimsoll/data.h"
#include "train/job_data.h"

namespace plimsoll::train {

data::Recipe source_of(const data::Dataset& set);
std::vector<data::Recipe> pipeline_of(const data::Dataset& set);
// Source, pipeline and share of a job that reads this set, checked as a job
// file's are.
Status state_data(const data::Dataset& set, DataSpec& data);

}  // namespace plimsoll::train
