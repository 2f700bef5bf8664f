#include "plan/job_plan.h"

#include <algorithm>
#include <numeric>

#include "base/units.h"

namespace plimsoll::plan {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;

Error absurd(const std::string& part) {
  return Error{ErrorCode::bad_input,
               part + ": negative, or the job passes 2^62 bytes"};
}

std::int64_t& at(Accounts& accounts, Purpose purpose) {
  return accounts[static_cast<std::size_t>(purpose)];
}

// Takes ranges one after another and charges each with its padding.
class Ranges {
 public:
  explicit Ranges(Accounts& accounts) : accounts_(accounts) {}

  Result<std::int64_t> take(const std::string& part, std::int64_t bytes,
                            std::int64_t granule, Purpose purpose) {
    if (bytes < 0 || bytes > kMostBytes - granule) return absurd(part);
    const std::int64_t rounded = round_up(bytes, granule);
    if (rounded > kMostBytes - end_) return absurd(part);
    const std::int64_t offset = end_;
    end_ += rounded;
    at(accounts_, purpose) += rounded;
    return offset;
  }
  std::int64_t end() const { return end_; }

 private:
  Accounts& accounts_;
  std::int64_t end_ = 0;
};

Result<std::int64_t> bytes_of(const StateNeed& state) {
  const std::string part = "state " + state.name;
  if (!state.type.shape.is_fixed()) {
    return Error{ErrorCode::bad_input,
                 part + ": its shape depends on the batch"};
  }
  const Result<std::int64_t> elements = state.type.shape.checked_elements(1);
  if (!elements || *elements > kMostBytes / size_of(state.type.dtype)) {
    return absurd(part);
  }
  return *elements * size_of(state.type.dtype);
}

Purpose purpose_of(graph::Role role) {
  switch (role) {
    case graph::Role::optimizer:
      return Purpose::optimizer;
    case graph::Role::gradient:
      return Purpose::gradients;
    default:
      return Purpose::parameters;
  }
}

// The offsets of the states of one place; -1 for the others'.
Result<std::vector<std::int64_t>> place_states(const JobNeeds& needs,
                                               graph::Place place,
                                               std::int64_t alignment_bytes,
                                               Ranges& ranges) {
  std::vector<std::int64_t> offsets(needs.states.size(), -1);
  for (const Purpose purpose :
       {Purpose::parameters, Purpose::optimizer, Purpose::gradients}) {
    for (std::size_t i = 0; i < needs.states.size(); ++i) {
      const StateNeed& state = needs.states[i];
      if (state.place != place || purpose_of(state.role) != purpose) continue;
      PLIMSOLL_ASSIGN(const std::int64_t bytes, bytes_of(state));
      PLIMSOLL_ASSIGN(offsets[i], ranges.take("state " + state.name, bytes,
                                              alignment_bytes, purpose));
    }
  }
  return offsets;
}

// The first with the greatest height; empty when there are no programs.
Result<TransientRange> highest(const std::vector<ProgramPlan>& programs,
                               TransientRange ProgramPlan::*place) {
  const TransientRange* high = nullptr;
  for (const ProgramPlan& program : programs) {
    const TransientRange& range = program.*place;
    const TransientBytes& peak = range.at_peak;
    for (const std::int64_t part :
         {peak.activations, peak.gradients, peak.scratch}) {
      if (part < 0 || part > range.height_bytes) {
        return absurd("program " + program.name);
      }
    }
    // Each part is at most the height, so that a sum of two cannot overflow.
    if (range.height_bytes > kMostBytes ||
        peak.activations + peak.gradients > range.height_bytes ||
        peak.total() > range.height_bytes) {
      return absurd("program " + program.name);
    }
    if (!high || range.height_bytes > high->height_bytes) high = &range;
  }
  return high ? *high : TransientRange{};
}

Result<std::int64_t> place_transient(const TransientRange& range,
                                     Ranges& ranges, Accounts& accounts) {
  PLIMSOLL_ASSIGN(const std::int64_t offset,
                  ranges.take("transient buffers", range.height_bytes, 1,
                              Purpose::scratch));
  const TransientBytes& peak = range.at_peak;
  at(accounts, Purpose::activations) += peak.activations;
  at(accounts, Purpose::gradients) += peak.gradients;
  at(accounts, Purpose::scratch) -= peak.activations + peak.gradients;
  return offset;
}

// What lies in the arena of the programs beside them and their states.
struct ArenaNeeds {
  std::int64_t alignment_bytes = 0;
  std::int64_t granule_bytes = 0;
  int slots = 0;
  std::int64_t slot_bytes = 0;
  std::int64_t pipeline_bytes = 0;
};

Status check_grain(const std::string& what, std::int64_t bytes,
                   std::int64_t alignment_bytes) {
  if (bytes > 0 && bytes <= kGiB && bytes % alignment_bytes == 0) return {};
  return Error{ErrorCode::bad_input, what + ": must be a multiple of " +
                                         std::to_string(alignment_bytes) +
                                         " up to 1 GiB"};
}

Status place_slots(int slots, std::int64_t slot_bytes,
                   std::int64_t alignment_bytes, Ranges& ranges) {
  if (slots < 0) return absurd("staging slots");
  for (int slot = 0; slot < slots; ++slot) {
    PLIMSOLL_RETURN_IF_ERROR(
        ranges.take("staging", slot_bytes, alignment_bytes, Purpose::staging));
  }
  return {};
}

Result<ArenaLayout> place_arena(const JobNeeds& needs, const ArenaNeeds& beside,
                                const TransientRange& transient,
                                Accounts& accounts) {
  ArenaLayout arena;
  Ranges ranges(accounts);
  PLIMSOLL_ASSIGN(
      arena.state_offsets,
      place_states(needs, graph::Place::home, beside.alignment_bytes, ranges));
  arena.staging_offset = ranges.end();
  PLIMSOLL_RETURN_IF_ERROR(place_slots(beside.slots, beside.slot_bytes,
                                       beside.alignment_bytes, ranges));
  PLIMSOLL_ASSIGN(arena.pipeline_offset,
                  ranges.take("pipeline", beside.pipeline_bytes,
                              beside.alignment_bytes, Purpose::pipeline));
  PLIMSOLL_ASSIGN(arena.transient_offset,
                  place_transient(transient, ranges, accounts));
  arena.bytes = round_up(ranges.end(), beside.granule_bytes);
  at(accounts, Purpose::scratch) += arena.bytes - ranges.end();
  return arena;
}

Result<HostLayout> place_host(const JobNeeds& needs,
                              const TransientRange& transient,
                              Accounts& accounts) {
  HostLayout host;
  Ranges ranges(accounts);
  PLIMSOLL_ASSIGN(host.state_offsets, place_states(needs, graph::Place::host,
                                                   kBufferAlignment, ranges));
  // The front, which a model keeps, ends with a page.
  PLIMSOLL_RETURN_IF_ERROR(ranges.take(
      "states", round_up(ranges.end(), needs.page_bytes) - ranges.end(), 1,
      Purpose::parameters));
  PLIMSOLL_ASSIGN(
      host.values_offset,
      ranges.take("values", kValuesBytes, needs.page_bytes, Purpose::staging));
  host.staging_offset = ranges.end();
  PLIMSOLL_RETURN_IF_ERROR(
      place_slots(needs.slots, needs.slot_bytes, kBufferAlignment, ranges));
  PLIMSOLL_ASSIGN(host.pipeline_offset,
                  ranges.take("pipeline", needs.pipeline_bytes,
                              kBufferAlignment, Purpose::pipeline));
  PLIMSOLL_ASSIGN(host.transient_offset,
                  place_transient(transient, ranges, accounts));
  host.bytes = round_up(ranges.end(), needs.page_bytes);
  at(accounts, Purpose::staging) += host.bytes - ranges.end();
  return host;
}

// Beside the pools: only sums.
Status add_runtime(std::int64_t floor_bytes, std::int64_t kernel_bytes,
                   std::int64_t allowance_bytes, SpaceForecast& space) {
  Ranges outside(space.accounts);
  const std::pair<const char*, std::int64_t> of_runtime[] = {
      {"runtime floor", floor_bytes},
      {"kernels", kernel_bytes},
      {"allowance", allowance_bytes}};
  for (const auto& [part, bytes] : of_runtime) {
    PLIMSOLL_RETURN_IF_ERROR(outside.take(part, bytes, 1, Purpose::runtime));
  }
  if (space.pool_bytes > kMostBytes - outside.end()) return absurd("the job");
  space.peak_bytes = space.pool_bytes + outside.end();
  return {};
}

Status lay_out_device(const JobNeeds& needs,
                      const std::vector<ProgramPlan>& programs, JobPlan& plan) {
  const DeviceNeeds& device = *needs.device;
  PLIMSOLL_RETURN_IF_ERROR(check_grain(
      "device alignment", device.alignment_bytes, kBufferAlignment));
  PLIMSOLL_RETURN_IF_ERROR(check_grain(
      "device granularity", device.granularity_bytes, device.alignment_bytes));
  PLIMSOLL_ASSIGN(const TransientRange at_home,
                  highest(programs, &ProgramPlan::home));
  PLIMSOLL_ASSIGN(const TransientRange on_host,
                  highest(programs, &ProgramPlan::host));
  SpaceForecast& space = plan.device.emplace();
  PLIMSOLL_ASSIGN(plan.arena,
                  place_arena(needs,
                              {device.alignment_bytes, device.granularity_bytes,
                               device.input_slots, device.input_slot_bytes, 0},
                              at_home, space.accounts));
  space.pool_bytes = plan.arena.bytes;
  PLIMSOLL_RETURN_IF_ERROR(add_runtime(device.runtime_floor_bytes,
                                       device.kernel_bytes,
                                       device.allowance_bytes, space));
  PLIMSOLL_ASSIGN(plan.host_arena,
                  place_host(needs, on_host, plan.host.accounts));
  plan.host.pool_bytes = plan.host_arena.bytes;
  return {};
}

}  // namespace

std::int64_t total(const Accounts& accounts) {
  return std::accumulate(accounts.begin(), accounts.end(), std::int64_t{0});
}

Result<JobPlan> lay_out(const JobNeeds& needs,
                        std::vector<ProgramPlan> programs,
                        std::string fingerprint) {
  PLIMSOLL_RETURN_IF_ERROR(
      check_grain("page size", needs.page_bytes, kBufferAlignment));
  JobPlan plan;
  SpaceForecast& host = plan.host;
  if (needs.device) {
    PLIMSOLL_RETURN_IF_ERROR(lay_out_device(needs, programs, plan));
  } else {
    PLIMSOLL_ASSIGN(const TransientRange high,
                    highest(programs, &ProgramPlan::home));
    PLIMSOLL_ASSIGN(plan.arena, place_arena(needs,
                                            {kBufferAlignment, needs.page_bytes,
                                             needs.slots, needs.slot_bytes,
                                             needs.pipeline_bytes},
                                            high, host.accounts));
    host.pool_bytes = plan.arena.bytes;
  }
  // A mapping of its own.
  Ranges user(host.accounts);
  PLIMSOLL_RETURN_IF_ERROR(user.take("user data", needs.user_bytes,
                                     needs.page_bytes, Purpose::user));
  if (host.pool_bytes > kMostBytes - user.end()) return absurd("the job");
  host.pool_bytes += user.end();
  PLIMSOLL_RETURN_IF_ERROR(add_runtime(needs.runtime_floor_bytes,
                                       needs.kernel_bytes,
                                       needs.allowance_bytes, host));
  plan.programs = std::move(programs);
  plan.fingerprint = std::move(fingerprint);
  return plan;
}

}  // namespace plimsoll::plan
