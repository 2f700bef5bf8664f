#include "compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <iostream>
#include <optional>
#include <sstream>

#include "process.h"

namespace example {
namespace {

struct Arguments {
  Setting setting;
  std::string part;  // empty: all
};

std::optional<Arguments> parse(int argc, char** argv,
                               const Comparison& comparison) {
  Arguments given;
  const auto is_part = [&](const std::string& name) {
    return std::any_of(comparison.parts.begin(), comparison.parts.end(),
                       [&](const Part& part) { return part.name == name; });
  };
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool has_value = i + 1 < argc;
    if (argument == "--small") {
      given.setting.small = true;
    } else if (argument == "--part" && has_value && is_part(argv[i + 1])) {
      given.part = argv[++i];
    } else if (argument == "--folder" && has_value) {
      given.setting.folder = argv[++i];
    } else {
      return std::nullopt;
    }
  }
  return given;
}

int usage(const char* program, const Comparison& comparison) {
  std::cerr << "usage: " << program << " [--small] [--part ";
  for (std::size_t i = 0; i < comparison.parts.size(); ++i) {
    std::cerr << (i > 0 ? "|" : "") << comparison.parts[i].name;
  }
  std::cerr << "] [--folder DIR]\n";
  return 2;
}

// A part in this process: its figures are the last line that it prints.
int run_part(const Part& part, const Setting& setting) {
  const Outcome outcome = part.run(setting);
  std::printf(
      "%lld %lld %.17g\n", static_cast<long long>(outcome.forecast_bytes),
      static_cast<long long>(outcome.ran ? peak_bytes() : 0), outcome.value);
  return 0;
}

struct Measured {
  const Part* part;
  long long forecast_bytes = 0;
  long long peak_bytes = 0;  // 0: not run
  double value = 0;
};

// The same program again, for one part.
Measured measure(const Part& part, const Setting& setting) {
  std::vector<std::string> arguments = {"--part", part.name, "--folder",
                                        setting.folder.string()};
  if (setting.small) arguments.push_back("--small");
  std::cout << part.name << ": " << part.what << std::endl;
  std::string last;
  run_self(arguments, [&](const std::string& line) {
    if (!last.empty()) std::cout << "  " << last << std::endl;
    last = line;
  });
  Measured measured{&part};
  if (std::sscanf(last.c_str(), "%lld %lld %lg", &measured.forecast_bytes,
                  &measured.peak_bytes, &measured.value) != 3) {
    throw std::runtime_error(part.name + " printed no figures but: " + last);
  }
  return measured;
}

const char* name_of(Role role) {
  if (role == Role::problem) return "problem";
  return role == Role::advice ? "advice" : "cure";
}

std::string mib(long long bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB",
                static_cast<double>(bytes) / (1 << 20));
  return text;
}

// Why a part is not what the program promises; empty: it is.
std::string miss(const Measured& measured, long long line, double value,
                 double tolerance) {
  if (measured.peak_bytes == 0) return {};
  if (!(std::abs(measured.value - value) <= tolerance)) {
    return "gave " + std::to_string(measured.value) + ", not " +
           std::to_string(value);
  }
  if (measured.part->role != Role::cure) return {};
  if (measured.peak_bytes > line) return "passed the line of " + mib(line);
  if (measured.peak_bytes > measured.forecast_bytes) {
    return "passed its forecast";
  }
  return {};
}

// The next one; of the last parts, the last.
const Measured& cure_of(const std::vector<Measured>& all, const Measured& of) {
  const Measured* part = &of;
  while (part != &all.back() && part->part->role != Role::cure) ++part;
  return *part;
}

bool print(const std::vector<Measured>& all, long long line, double tolerance) {
  bool held = true;
  std::ostringstream json;
  std::printf("\n%-22s %-8s %14s %14s\n", "", "", "forecast", "measured peak");
  for (const Measured& measured : all) {
    const Part& part = *measured.part;
    const bool ran = measured.peak_bytes > 0;
    std::printf("%-22s %-8s %14s %14s\n", part.name.c_str(), name_of(part.role),
                mib(measured.forecast_bytes).c_str(),
                ran ? mib(measured.peak_bytes).c_str() : "not run");
    const std::string why =
        miss(measured, line, cure_of(all, measured).value, tolerance);
    if (!why.empty()) std::printf("  %s %s\n", part.name.c_str(), why.c_str());
    held = held && why.empty();
    json << (json.tellp() > 0 ? ", " : "") << "{\"name\": \"" << part.name
         << "\", \"role\": \"" << name_of(part.role)
         << "\", \"forecast_bytes\": " << measured.forecast_bytes
         << ", \"measured_bytes\": "
         << (ran ? std::to_string(measured.peak_bytes) : "null") << "}";
  }
  std::printf("{\"line_bytes\": %lld, \"held\": %s, \"parts\": [%s]}\n", line,
              held ? "true" : "false", json.str().c_str());
  return held;
}

}  // namespace

int compare(int argc, char** argv, const Comparison& comparison) try {
  std::optional<Arguments> given = parse(argc, argv, comparison);
  if (!given) return usage(argv[0], comparison);
  Setting& setting = given->setting;
  std::optional<TemporaryFolder> own;
  if (setting.folder.empty()) setting.folder = own.emplace().path;
  for (const Part& part : comparison.parts) {
    if (part.name == given->part && !own) return run_part(part, setting);
  }
  std::cout << comparison.question << "\n" << std::endl;
  if (comparison.prepare) comparison.prepare(setting);
  std::vector<Measured> all;
  for (const Part& part : comparison.parts) {
    if (given->part.empty() || given->part == part.name) {
      all.push_back(measure(part, setting));
    }
  }
  if (comparison.afterwards && given->part.empty()) {
    std::cout << "\n";
    comparison.afterwards(setting);
  }
  const std::int64_t line =
      setting.small ? comparison.small_line_bytes : comparison.line_bytes;
  return print(all, line, comparison.tolerance) ? 0 : 1;
} catch (const std::exception& wrong) {
  std::cerr << argv[0] << ": " << wrong.what() << "\n";
  return 1;
}

}  // namespace example
