#include "device/device_profile.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace plimsoll {
namespace {

using Json = nlohmann::json;

constexpr int kFormat = 4;

// Calls visit(key, field) for every plain field: written and read from one
// list, so that neither side can forget one.
template <class Profile, class Visitor>
void visit_fields(Profile& profile, Visitor&& visit) {
  visit("name", profile.name);
  visit("kind", profile.kind);
  visit("instruction_set", profile.instruction_set);
  visit("threads", profile.threads);
  visit("library_versions", profile.library_versions);
  visit("f32_flops_per_second", profile.f32_flops_per_second);
  visit("f64_flops_per_second", profile.f64_flops_per_second);
  visit("tf32_flops_per_second", profile.tf32_flops_per_second);
  visit("bf16_flops_per_second", profile.bf16_flops_per_second);
  visit("f16_flops_per_second", profile.f16_flops_per_second);
  visit("memory_bytes_per_second", profile.memory_bytes_per_second);
  visit("copy_to_device_bytes_per_second",
        profile.copy_to_device_bytes_per_second);
  visit("copy_to_host_bytes_per_second", profile.copy_to_host_bytes_per_second);
  visit("launch_seconds", profile.launch_seconds);
  visit("total_memory_bytes", profile.total_memory_bytes);
  visit("alignment_bytes", profile.alignment_bytes);
  visit("granularity_bytes", profile.granularity_bytes);
  visit("runtime_floor_bytes", profile.runtime_floor_bytes);
  visit("host_floor_bytes", profile.host_floor_bytes);
  visit("host_product_bytes", profile.host_product_bytes);
  visit("host_convolution_bytes", profile.host_convolution_bytes);
  visit("device_convolution_bytes", profile.device_convolution_bytes);
  visit("instruction_bytes", profile.instruction_bytes);
  visit("device_instruction_bytes", profile.device_instruction_bytes);
  visit("planning_floor_bytes", profile.planning_floor_bytes);
  visit("planning_value_bytes", profile.planning_value_bytes);
  visit("allowance_bytes", profile.allowance_bytes);
  visit("measured", profile.measured);
  visit("note", profile.note);
}

// Each takes a field from JSON and says what is wrong with it, or nothing.
const char* take(const Json& json, std::string& field) {
  if (!json.is_string()) return "must be a text";
  field = json.get<std::string>();
  return nullptr;
}

const char* take(const Json& json, bool& field) {
  if (!json.is_boolean()) return "must be true or false";
  field = json.get<bool>();
  return nullptr;
}

const char* take(const Json& json, double& field) {
  if (!json.is_number()) return "must be a number";
  field = json.get<double>();
  return std::isfinite(field) && field >= 0 ? nullptr : "must not be negative";
}

const char* take(const Json& json, std::int64_t& field) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  if (!json.is_number_integer()) return "must be a whole number";
  if (json.is_number_unsigned() &&
      json.get<std::uint64_t>() > static_cast<std::uint64_t>(kMost)) {
    return "is too large";
  }
  field = json.get<std::int64_t>();
  return field >= 0 ? nullptr : "must not be negative";
}

const char* take(const Json& json, int& field) {
  std::int64_t wide = 0;
  if (const char* wrong = take(json, wide)) return wrong;
  if (wide < 1 || wide > 1 << 20) return "must be from 1 to 2^20";
  field = static_cast<int>(wide);
  return nullptr;
}

const char* take(const Json& json, std::map<std::string, std::string>& field) {
  if (!json.is_object()) return "must be an object of texts";
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) return "must be an object of texts";
    field[key] = value.get<std::string>();
  }
  return nullptr;
}

bool power_of_two(std::int64_t number) {
  return number > 0 && (number & (number - 1)) == 0;
}

Error wrong(std::string_view key, std::string_view why) {
  return {ErrorCode::bad_input,
          fmt::format("device profile: \"{}\" {}", key, why)};
}

}  // namespace

std::string to_json(const DeviceProfile& profile) {
  Json json = {{"format", kFormat}};
  visit_fields(profile,
               [&](const char* key, const auto& field) { json[key] = field; });
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<DeviceProfile> device_profile_from_json(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return Error{ErrorCode::bad_input, "device profile: not a JSON object"};
  }
  if (!json.contains("format") || json["format"] != kFormat) {
    return wrong("format", fmt::format("must be {}", kFormat));
  }
  DeviceProfile profile;
  Status status;
  std::set<std::string> known = {"format"};
  visit_fields(profile, [&](const char* key, auto& field) {
    known.insert(key);
    if (!status) return;
    if (!json.contains(key)) {
      status = wrong(key, "is missing");
    } else if (const char* why = take(json[key], field)) {
      status = wrong(key, why);
    }
  });
  PLIMSOLL_RETURN_IF_ERROR(std::move(status));
  for (const auto& [key, value] : json.items()) {
    if (!known.contains(key)) return wrong(key, "is unknown");
  }
  if (!power_of_two(profile.alignment_bytes)) {
    return wrong("alignment_bytes", "must be a power of two");
  }
  if (!power_of_two(profile.granularity_bytes)) {
    return wrong("granularity_bytes", "must be a power of two");
  }
  return profile;
}

}  // namespace plimsoll
