// The JSON at the head of a safetensors file. Inside the io folder only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/safetensors.h"

namespace plimsoll::io {

struct SafetensorsHeader {
  // In the order of their bytes; offsets count from the end of the header.
  std::vector<SafetensorsFile::Entry> entries;
  TextMap metadata;
};

// Checks that the entries fill `data_bytes` without overlap or hole. Errors
// begin with `path`.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view json,
                                                   std::int64_t data_bytes,
                                                   const std::string& path);

Result<std::string> format_safetensors_header(const SafetensorsHeader& header);

}  // namespace plimsoll::io
