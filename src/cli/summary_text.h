// The end of a training for people: forecast against measured.
#pragma once

#include <string>

namespace plimsoll::cli {

// From the text of summary.json; empty when it is no such text.
std::string summary_text(const std::string& summary_json);

}  // namespace plimsoll::cli
