#include "cli/shell_text.h"

namespace plimsoll::cli {

std::string shell_quote(const std::string& argument) {
  constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
      "_-./=:,%+@";
  if (!argument.empty() &&
      argument.find_first_not_of(kPlain) == std::string::npos) {
    return argument;
  }
  std::string quoted = "'";
  for (const char c : argument) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string shell_join(const std::vector<std::string>& arguments) {
  std::string text;
  for (const std::string& argument : arguments) {
    if (!text.empty()) text += ' ';
    text += shell_quote(argument);
  }
  return text;
}

}  // namespace plimsoll::cli
