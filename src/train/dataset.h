// From the public recipe of a data set to what a job reads.
#pragma once

#include "plimsoll/data.h"
#include "train/job_data.h"

namespace plimsoll::train {

Result<data::Source> open_dataset(const data::Dataset& set, std::int64_t seed);
std::vector<data::Recipe> pipeline_of(const data::Dataset& set);
// Names and options against the catalogue.
Status check_recipes(const std::vector<data::Recipe>& pipeline);

}  // namespace plimsoll::train
