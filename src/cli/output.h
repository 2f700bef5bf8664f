// Printing, and what is said when something fails.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "cli/exit_codes.h"

namespace plimsoll::cli {

inline void print(std::FILE* file, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

// "plimsoll: ..." on standard error; gives back the exit code.
inline int fail(const Error& error) {
  print(stderr, "plimsoll: " + error.message + "\n");
  return exit_code_of(error);
}

}  // namespace plimsoll::cli
