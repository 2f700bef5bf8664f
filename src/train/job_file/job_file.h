// Reads a job file: TOML whose every mistake is named with file, line and key.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "train/job_spec.h"

namespace plimsoll::train {

// `overrides` are `dotted.key=value`, applied before reading; a complaint
// about one quotes it instead of a line. Relative paths of data files are
// taken from the job file's folder.
Result<JobSpec> read_job_file(const std::string& path,
                              std::span<const std::string> overrides);

// The same from text; `path` names it in errors and places relative files.
Result<JobSpec> parse_job(const std::string& text, const std::string& path,
                          std::span<const std::string> overrides);

}  // namespace plimsoll::train
