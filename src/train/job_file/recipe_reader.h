// A source or a stage of the pipeline's catalogue, read from its table.
#pragma once

#include <string>

#include "data/recipe.h"
#include "train/job_file/job_reader.h"

namespace plimsoll::train {

// `name_key` is the key that named it: "type" or "stage".
data::Recipe read_recipe(TableReader& table, const data::RecipeDef& def,
                         std::string_view name_key, const std::string& folder);

// Relative paths start at `folder`.
std::string resolve_path(const std::string& folder, const std::string& path);

}  // namespace plimsoll::train
