// Printing, and what is said when something fails.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "cli/exit_codes.h"

namespace plimsoll::cli {

// False, with errno set, when not all of it was taken.
inline bool print(std::FILE* file, std::string_view text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fflush(file) == 0 && written;
}

// "plimsoll: ..." on standard error; gives back the exit code.
inline int fail(const Error& error) {
  print(stderr, "plimsoll: " + error.message + "\n");
  return exit_code_of(error);
}

// To be called right after print() was false.
inline int fail_for_lost_output() {
  return fail(
      {ErrorCode::io, std::string("standard output: ") + std::strerror(errno)});
}

// A command's result on standard output; gives back the exit code, which is
// `exit_code` unless the result was lost.
inline int print_result(std::string_view text, int exit_code) {
  return print(stdout, text) ? exit_code : fail_for_lost_output();
}

}  // namespace plimsoll::cli
