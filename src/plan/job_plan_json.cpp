#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "plan/job_plan.h"
#include "plan/json_reader.h"

namespace plimsoll::plan {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "plimsoll-plan-2";
constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;

json write(const TransientRange& range) {
  return {{"height_bytes", range.height_bytes},
          {"lower_bound_bytes", range.lower_bound_bytes},
          {"at_peak",
           {{"activations", range.at_peak.activations},
            {"gradients", range.at_peak.gradients},
            {"scratch", range.at_peak.scratch}}}};
}

json write(const ProgramPlan& plan) {
  json out = {{"name", plan.name},
              {"batch", plan.batch},
              {"order", plan.order},
              {"buffer_offsets", plan.buffer_offsets},
              {"scratch_offsets", plan.scratch_offsets},
              {"host", write(plan.host)},
              {"compute_seconds", plan.compute_seconds},
              {"numerics_key", hash_text(plan.numerics_key)}};
  out.update(write(plan.home));
  return out;
}

json write(const ArenaLayout& arena) {
  return {{"state_offsets", arena.state_offsets},
          {"staging_offset", arena.staging_offset},
          {"pipeline_offset", arena.pipeline_offset},
          {"transient_offset", arena.transient_offset},
          {"bytes", arena.bytes}};
}

json write(const HostLayout& host) {
  return {{"state_offsets", host.state_offsets},
          {"values_offset", host.values_offset},
          {"staging_offset", host.staging_offset},
          {"pipeline_offset", host.pipeline_offset},
          {"transient_offset", host.transient_offset},
          {"bytes", host.bytes}};
}

json write(const SpaceForecast& forecast) {
  json accounts = json::object();
  for (std::size_t i = 0; i < kPurposes; ++i) {
    accounts[std::string(name_of(static_cast<Purpose>(i)))] =
        forecast.accounts[i];
  }
  return {{"peak_bytes", forecast.peak_bytes},
          {"pool_bytes", forecast.pool_bytes},
          {"accounts", accounts}};
}

TransientBytes read_transient(const JsonReader& in, std::int64_t whole) {
  TransientBytes bytes;
  if (!in.is_object_with({"activations", "gradients", "scratch"})) return bytes;
  bytes.activations = in["activations"].integer(0, whole);
  bytes.gradients = in["gradients"].integer(0, whole - bytes.activations);
  bytes.scratch = in["scratch"].integer(0, kMostBytes);
  if (bytes.scratch != whole - bytes.activations - bytes.gradients) {
    in.fail("must add up to lower_bound_bytes");
  }
  return bytes;
}

TransientRange read_range(const JsonReader& in) {
  TransientRange range;
  range.height_bytes = in["height_bytes"].integer(0, kMostBytes);
  range.lower_bound_bytes =
      in["lower_bound_bytes"].integer(0, in.ok() ? range.height_bytes : 0);
  range.at_peak = read_transient(in["at_peak"], range.lower_bound_bytes);
  return range;
}

std::vector<std::int32_t> read_order(const JsonReader& in) {
  const std::vector<JsonReader> items = in.items();
  std::vector<std::int32_t> order;
  std::vector<bool> seen(items.size());
  for (const JsonReader& item : items) {
    const std::int64_t index =
        item.integer(0, static_cast<std::int64_t>(items.size()) - 1);
    if (!in.ok()) return {};
    if (seen[static_cast<std::size_t>(index)]) item.fail("appears twice");
    seen[static_cast<std::size_t>(index)] = true;
    order.push_back(static_cast<std::int32_t>(index));
  }
  return order;
}

ProgramPlan read_program(const JsonReader& in) {
  ProgramPlan plan;
  if (!in.is_object_with({"name", "batch", "order", "buffer_offsets",
                          "scratch_offsets", "height_bytes",
                          "lower_bound_bytes", "at_peak", "host",
                          "compute_seconds", "numerics_key"}) ||
      !in["host"].is_object_with(
          {"height_bytes", "lower_bound_bytes", "at_peak"})) {
    return plan;
  }
  plan.name = in["name"].string();
  plan.batch = in["batch"].integer();
  plan.order = read_order(in["order"]);
  plan.buffer_offsets = in["buffer_offsets"].integers(-1);
  plan.scratch_offsets = in["scratch_offsets"].integers(-1);
  plan.home = read_range(in);
  plan.host = read_range(in["host"]);
  plan.compute_seconds = in["compute_seconds"].duration();
  plan.numerics_key = in["numerics_key"].hash();
  if (!in.ok()) return plan;
  if (plan.scratch_offsets.size() != plan.order.size()) {
    in["scratch_offsets"].fail("must have one entry an instruction");
  }
  for (const auto* offsets : {&plan.buffer_offsets, &plan.scratch_offsets}) {
    for (const std::int64_t offset : *offsets) {
      if (offset > std::max(plan.home.height_bytes, plan.host.height_bytes)) {
        in["height_bytes"].fail("an offset lies above it");
      }
    }
  }
  return plan;
}

ArenaLayout read_arena(const JsonReader& in) {
  ArenaLayout arena;
  if (!in.is_object_with({"state_offsets", "staging_offset", "pipeline_offset",
                          "transient_offset", "bytes"})) {
    return arena;
  }
  arena.state_offsets = in["state_offsets"].integers(-1);
  arena.bytes = in["bytes"].integer(0, kMostBytes);
  // Sections stand in this order: each is bounded by the next.
  arena.transient_offset = in["transient_offset"].integer(0, arena.bytes);
  arena.pipeline_offset =
      in["pipeline_offset"].integer(0, arena.transient_offset);
  arena.staging_offset = in["staging_offset"].integer(0, arena.pipeline_offset);
  for (const std::int64_t offset : arena.state_offsets) {
    if (offset > arena.staging_offset) {
      in["state_offsets"].fail("a state lies above the staging slots");
    }
  }
  return arena;
}

HostLayout read_host(const JsonReader& in) {
  HostLayout host;
  if (!in.is_object_with({"state_offsets", "values_offset", "staging_offset",
                          "pipeline_offset", "transient_offset", "bytes"})) {
    return host;
  }
  host.bytes = in["bytes"].integer(0, kMostBytes);
  host.transient_offset = in["transient_offset"].integer(0, host.bytes);
  host.pipeline_offset =
      in["pipeline_offset"].integer(0, host.transient_offset);
  host.staging_offset = in["staging_offset"].integer(0, host.pipeline_offset);
  host.values_offset = in["values_offset"].integer(0, host.staging_offset);
  host.state_offsets = in["state_offsets"].integers(-1);
  for (const std::int64_t offset : host.state_offsets) {
    if (offset > host.values_offset) {
      in["state_offsets"].fail("a state lies above the values");
    }
  }
  return host;
}

SpaceForecast read_forecast(const JsonReader& in) {
  SpaceForecast forecast;
  if (!in.is_object_with({"peak_bytes", "pool_bytes", "accounts"})) {
    return forecast;
  }
  forecast.peak_bytes = in["peak_bytes"].integer(0, kMostBytes);
  forecast.pool_bytes = in["pool_bytes"].integer(0, forecast.peak_bytes);
  const JsonReader accounts = in["accounts"];
  if (!accounts.is_object_with({"parameters", "gradients", "optimizer",
                                "activations", "scratch", "pipeline", "staging",
                                "cache", "runtime", "user"})) {
    return forecast;
  }
  std::int64_t left = forecast.peak_bytes;
  for (std::size_t i = 0; i < kPurposes; ++i) {
    const JsonReader account = accounts[name_of(static_cast<Purpose>(i))];
    forecast.accounts[i] = account.integer(0, kMostBytes);
    if (forecast.accounts[i] > left) {
      accounts.fail("must add up to peak_bytes");
      return forecast;
    }
    left -= forecast.accounts[i];
  }
  if (left != 0) accounts.fail("must add up to peak_bytes");
  return forecast;
}

JobPlan read_job(const JsonReader& in) {
  JobPlan plan;
  const bool on_device = in.has("device");
  if (on_device
          ? !in.is_object_with({"format", "programs", "arena", "host_arena",
                                "host", "device", "fingerprint"})
          : !in.is_object_with(
                {"format", "programs", "arena", "host", "fingerprint"})) {
    return plan;
  }
  if (in["format"].string() != kFormat) {
    in["format"].fail("must be \"" + std::string(kFormat) + "\"");
  }
  for (const JsonReader& program : in["programs"].items()) {
    plan.programs.push_back(read_program(program));
  }
  plan.arena = read_arena(in["arena"]);
  plan.host = read_forecast(in["host"]);
  if (on_device) {
    plan.host_arena = read_host(in["host_arena"]);
    plan.device = read_forecast(in["device"]);
  }
  plan.fingerprint = in["fingerprint"].string();
  if (!in.ok()) return plan;
  for (const ProgramPlan& program : plan.programs) {
    if (program.home.height_bytes >
        plan.arena.bytes - plan.arena.transient_offset) {
      in["arena"].fail("is too small for program " + program.name);
    }
    const HostLayout& host = plan.host_arena;
    if (program.host.height_bytes > host.bytes - host.transient_offset) {
      in["host"].fail("is too small for program " + program.name);
    }
  }
  const std::int64_t host_arena =
      on_device ? plan.host_arena.bytes : plan.arena.bytes;
  if (plan.host.pool_bytes < host_arena) {
    in["host"].fail("pool_bytes is less than the arena");
  }
  if (on_device && plan.device->pool_bytes < plan.arena.bytes) {
    in["device"].fail("pool_bytes is less than the arena");
  }
  return plan;
}

}  // namespace

std::string to_json(const JobPlan& plan) {
  json programs = json::array();
  for (const ProgramPlan& program : plan.programs) {
    programs.push_back(write(program));
  }
  json file = {{"format", kFormat},
               {"programs", programs},
               {"arena", write(plan.arena)},
               {"host", write(plan.host)},
               {"fingerprint", plan.fingerprint}};
  if (plan.device) {
    file["host_arena"] = write(plan.host_arena);
    file["device"] = write(*plan.device);
  }
  return file.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<JobPlan> job_plan_from_json(const std::string& text) {
  try {
    const json file = json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (file.is_discarded()) {
      return Error{ErrorCode::bad_input, "plan file: not valid JSON"};
    }
    Status status;
    JobPlan plan = read_job(JsonReader(file, "", status));
    if (!status) return std::move(status).error();
    return plan;
  } catch (const std::exception& error) {
    return Error{ErrorCode::internal,
                 std::string("plan file: ") + error.what()};
  }
}

}  // namespace plimsoll::plan
