#include "data/streams/file_list.h"

#include <fmt/core.h>
#include <glob.h>

#include <algorithm>

namespace plimsoll::data {

Result<std::vector<std::string>> list_files(
    const std::vector<std::string>& patterns) {
  std::vector<std::string> files;
  for (const std::string& pattern : patterns) {
    glob_t found{};
    const int failure = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
    const std::size_t before = files.size();
    if (failure == 0) {
      files.insert(files.end(), found.gl_pathv,
                   found.gl_pathv + found.gl_pathc);
    }
    ::globfree(&found);
    if (files.size() == before) {
      return Error{ErrorCode::bad_input,
                   fmt::format("no file matches {}", pattern)};
    }
    // By bytes: the same order in every locale.
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
  }
  if (files.empty()) {
    return Error{ErrorCode::bad_input, "no files: name one or a pattern"};
  }
  return files;
}

}  // namespace plimsoll::data
