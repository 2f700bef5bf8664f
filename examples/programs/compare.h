// A problem and its cure, each in a process of its own, so that each has a peak
// of its own. Nothing here is needed to use Plimsoll.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace example {

struct Setting {
  bool small = false;            // of a size for tests
  std::filesystem::path folder;  // for files; it goes when the program ends
};

struct Outcome {
  // Of the whole process, known before the work began.
  std::int64_t forecast_bytes = 0;
  // What was computed: the same for a problem and its cure, to `tolerance`.
  double value = 0;
  // False: this size is shown by its forecast alone.
  bool ran = true;
};

enum class Role { problem, advice, cure };  // advice: what is often told

struct Part {
  std::string name;
  Role role = Role::problem;
  std::string what;  // a line for people
  std::function<Outcome(const Setting&)> run;
};

struct Comparison {
  std::string question;
  std::vector<Part> parts;  // each problem before its cure
  std::function<void(const Setting&)> prepare = {};     // makes the files
  std::function<void(const Setting&)> afterwards = {};  // what else to show
  std::int64_t line_bytes = 0;                          // that cures stay under
  std::int64_t small_line_bytes = 0;  // likewise, with --small
  double tolerance = 0;
};

// A program's main(): runs the parts, prints forecast and measured peak of each
// and, as its last line, the same as JSON. Returns 0 when every cure stayed
// under the line and its forecast, 1 when one missed, 2 for bad arguments.
int compare(int argc, char** argv, const Comparison& comparison);

// What the system counts for this process now, and the most it ever did.
std::int64_t resident_bytes();
std::int64_t peak_bytes();

}  // namespace example
