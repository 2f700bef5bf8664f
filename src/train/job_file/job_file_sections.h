// The sections of a job file, each read from its table. Complaints go to the
// table's JobErrors.
#pragma once

#include <string>

#include "train/job_file/job_reader.h"
#include "train/job_spec.h"

namespace plimsoll::train {

void read_model(TableReader& table, ModelSpec& model);
// `folder` is where relative paths start.
void read_data(TableReader& table, const std::string& folder, DataSpec& data);
void read_train(TableReader& table, TrainSpec& train);
void read_memory(TableReader& table, MemorySpec& memory);

// What one example is when it leaves the last layer; the error names the layer
// that does not fit.
Result<std::vector<std::int64_t>> output_shape(const ModelSpec& model,
                                               DType precision);

// Shapes of model, source and loss that cannot go together. `root` is the
// whole file, for the places.
void check_shapes(const JobValue& root, const JobSpec& job, JobErrors& errors);

}  // namespace plimsoll::train
