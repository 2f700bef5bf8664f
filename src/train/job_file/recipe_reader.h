// A source or a stage of the pipeline's catalogue, read from its table.
#pragma once

#include <string>

#include "data/recipe.h"
#include "train/job_file/job_reader.h"

namespace plimsoll::train {

// `other_keys` may stand in the table too: those that named it, and those that
// the caller reads. Relative paths start at `folder`.
data::Recipe read_recipe(TableReader& table, const data::RecipeDef& def,
                         Names other_keys, const std::string& folder);

}  // namespace plimsoll::train
