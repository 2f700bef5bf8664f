#include "cli/summary_text.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/plan_text.h"

namespace plimsoll::cli {
namespace {

using Json = nlohmann::json;

const Json& at(const Json& json, const char* a, const char* b) {
  static const Json kNone;
  const auto outer = json.find(a);
  if (outer == json.end() || !outer->is_object()) return kNone;
  const auto inner = outer->find(b);
  return inner == outer->end() ? kNone : *inner;
}

std::string bytes_text(const Json& value) {
  return value.is_number() ? format_exact_bytes(value.get<std::int64_t>())
                           : "-";
}

double number(const Json& json, const char* key) {
  const auto value = json.find(key);
  return value != json.end() && value->is_number() ? value->get<double>() : 0;
}

}  // namespace

std::string summary_text(const std::string& summary_json) {
  const Json json = Json::parse(summary_json, nullptr, false);
  if (!json.is_object()) return "";
  std::string text = fmt::format(
      "{} steps in {:.1f} s, {} examples/s\n\n",
      format_count(static_cast<std::int64_t>(number(json, "steps"))),
      number(json, "seconds"),
      format_count(
          static_cast<std::int64_t>(number(json, "examples_per_second"))));
  text += fmt::format("{:<16}{:>20}{:>20}\n", "host memory", "forecast",
                      "measured");
  const auto row = [&](const char* name, const char* planned,
                       const char* found) {
    text += fmt::format("{:<16}{:>20}{:>20}\n", name,
                        bytes_text(at(json, "forecast", planned)),
                        bytes_text(at(json, "measured", found)));
  };
  row("whole process", "host_peak", "host_rss_peak");
  row("planned pools", "host_ledger_peak", "host_ledger_peak");
  if (at(json, "forecast", "device_peak").is_number()) {
    text += fmt::format("\n{:<16}{:>20}{:>20}\n", "device memory", "forecast",
                        "measured");
    row("whole process", "device_peak", "device_peak");
    row("planned pools", "device_ledger_peak", "device_ledger_peak");
  }
  if (const auto skipped =
          static_cast<std::int64_t>(number(json, "skipped_elements"))) {
    text += fmt::format("\n{} elements were left out: they could not be read\n",
                        format_count(skipped));
  }
  return text;
}

}  // namespace plimsoll::cli
