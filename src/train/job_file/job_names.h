// The names a job file may use, and the nearest one to a misspelt word.
#pragma once

#include <string>
#include <string_view>

#include "train/layers/layer_key.h"

namespace plimsoll::train {

Names source_types();
Names label_types();
Names residencies();
Names stages();
Names optimizers();
Names schedules();
Names losses();
Names metrics();
Names precisions();

bool contains(Names names, std::string_view word);
// The name within a few edits of `word`, or empty.
std::string_view closest(Names names, std::string_view word);
// "`a`, `b` or `c`"
std::string list_of(Names names, std::string_view last_word = "or");

}  // namespace plimsoll::train
