// TOML text to a JobValue: the only place that knows the TOML library.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "train/job_file/job_value.h"

namespace plimsoll::train {

// `file` names the text in errors: "mlp.toml:3: ...".
Result<JobValue> parse_job_toml(std::string_view text, const std::string& file);

// One value as it stands right of an equals sign, or nothing if it is none.
std::optional<JobValue> parse_toml_value(const std::string& text);

}  // namespace plimsoll::train
