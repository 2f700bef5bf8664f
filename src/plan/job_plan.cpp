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

Status place_states(const JobNeeds& needs, Ranges& ranges, ArenaLayout& arena) {
  arena.state_offsets.assign(needs.states.size(), 0);
  for (const bool of_optimizer : {false, true}) {
    for (std::size_t i = 0; i < needs.states.size(); ++i) {
      const StateNeed& state = needs.states[i];
      if ((state.role == graph::Role::optimizer) != of_optimizer) continue;
      PLIMSOLL_ASSIGN(const std::int64_t bytes, bytes_of(state));
      PLIMSOLL_ASSIGN(
          arena.state_offsets[i],
          ranges.take("state " + state.name, bytes, kBufferAlignment,
                      of_optimizer ? Purpose::optimizer : Purpose::parameters));
    }
  }
  return {};
}

// The first with the greatest height; null when there are no programs.
Result<const ProgramPlan*> highest(const std::vector<ProgramPlan>& programs) {
  const ProgramPlan* high = nullptr;
  for (const ProgramPlan& program : programs) {
    const TransientBytes& peak = program.at_peak;
    for (const std::int64_t part :
         {peak.activations, peak.gradients, peak.scratch}) {
      if (part < 0 || part > program.height_bytes) {
        return absurd("program " + program.name);
      }
    }
    // Each part is at most the height, so that a sum of two cannot overflow.
    if (program.height_bytes > kMostBytes ||
        peak.activations + peak.gradients > program.height_bytes ||
        peak.total() > program.height_bytes) {
      return absurd("program " + program.name);
    }
    if (!high || program.height_bytes > high->height_bytes) high = &program;
  }
  return high;
}

}  // namespace

std::int64_t total(const Accounts& accounts) {
  return std::accumulate(accounts.begin(), accounts.end(), std::int64_t{0});
}

Result<JobPlan> lay_out(const JobNeeds& needs,
                        std::vector<ProgramPlan> programs,
                        std::string fingerprint) {
  if (needs.page_bytes <= 0 || needs.page_bytes > kGiB ||
      needs.page_bytes % kBufferAlignment != 0) {
    return Error{ErrorCode::bad_input,
                 "page size: must be a multiple of 64 up to 1 GiB"};
  }
  if (needs.slots < 0) return absurd("staging slots");
  JobPlan plan;
  Accounts& accounts = plan.host.accounts;
  ArenaLayout& arena = plan.arena;
  Ranges ranges(accounts);
  PLIMSOLL_RETURN_IF_ERROR(place_states(needs, ranges, arena));

  arena.staging_offset = ranges.end();
  for (int slot = 0; slot < needs.slots; ++slot) {
    PLIMSOLL_RETURN_IF_ERROR(ranges.take("staging", needs.slot_bytes,
                                         kBufferAlignment, Purpose::staging));
  }
  PLIMSOLL_ASSIGN(arena.pipeline_offset,
                  ranges.take("pipeline", needs.pipeline_bytes,
                              kBufferAlignment, Purpose::pipeline));

  PLIMSOLL_ASSIGN(const ProgramPlan* program, highest(programs));
  const std::int64_t height = program ? program->height_bytes : 0;
  PLIMSOLL_ASSIGN(
      arena.transient_offset,
      ranges.take("transient buffers", height, 1, Purpose::scratch));
  if (program) {
    at(accounts, Purpose::activations) = program->at_peak.activations;
    at(accounts, Purpose::gradients) = program->at_peak.gradients;
    at(accounts, Purpose::scratch) -=
        program->at_peak.activations + program->at_peak.gradients;
  }
  arena.bytes = round_up(ranges.end(), needs.page_bytes);
  at(accounts, Purpose::scratch) += arena.bytes - ranges.end();

  // From here on only sums: mappings and memory outside the arena.
  Ranges outside(accounts);
  PLIMSOLL_RETURN_IF_ERROR(outside.take("user data", needs.user_bytes,
                                        needs.page_bytes, Purpose::user));
  plan.host.pool_bytes = arena.bytes + outside.end();
  const std::pair<const char*, std::int64_t> of_runtime[] = {
      {"runtime floor", needs.runtime_floor_bytes},
      {"kernels", needs.kernel_bytes},
      {"allowance", needs.allowance_bytes}};
  for (const auto& [part, bytes] : of_runtime) {
    PLIMSOLL_RETURN_IF_ERROR(outside.take(part, bytes, 1, Purpose::runtime));
  }
  if (arena.bytes > kMostBytes - outside.end()) return absurd("the job");
  plan.host.peak_bytes = arena.bytes + outside.end();
  plan.programs = std::move(programs);
  plan.fingerprint = std::move(fingerprint);
  return plan;
}

}  // namespace plimsoll::plan
