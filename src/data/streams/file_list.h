// The files of a source, by name or by pattern.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace plimsoll::data {

// Every pattern ("train-*.tfrecord", or a plain name) stands for the files that
// match it, sorted by name. One without a match is an error that names it.
Result<std::vector<std::string>> list_files(
    const std::vector<std::string>& patterns);

}  // namespace plimsoll::data
