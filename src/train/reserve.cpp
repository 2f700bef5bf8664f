#include "train/reserve.h"

#include <fmt/core.h>

namespace plimsoll::train {
namespace {

std::int64_t room(const plan::SpaceForecast& forecast, const Budget& budget,
                  std::int64_t held_bytes) {
  return budget.bytes - held_bytes - forecast.peak_bytes;
}

void take(std::int64_t bytes, std::int64_t granule, const char* space,
          plan::SpaceForecast& forecast, std::vector<std::string>& notes) {
  const std::int64_t whole = bytes / granule * granule;
  forecast.accounts[static_cast<std::size_t>(Purpose::cache)] += whole;
  forecast.pool_bytes += whole;
  forecast.peak_bytes += whole;
  notes.push_back(fmt::format(
      "Growth is off: all of the {} budget is taken when the job starts.",
      space));
}

}  // namespace

void reserve_rest(const Workplace& place, const Line& held,
                  PlannedJob& planned) {
  plan::JobPlan& plan = planned.plan;
  const std::int64_t on_host = room(plan.host, place.budget, held.host_bytes);
  const std::int64_t on_device =
      plan.device ? room(*plan.device, *place.device_budget, held.device_bytes)
                  : 0;
  if (on_host < 0 || on_device < 0) return;
  std::vector<std::string>& notes = planned.graphs.notes;
  if (!place.host_growth) {
    take(on_host, planned.needs.page_bytes, "host", plan.host, notes);
  }
  if (plan.device && !place.device_growth) {
    take(on_device, planned.needs.device->granularity_bytes, "device",
         *plan.device, notes);
  }
}

}  // namespace plimsoll::train
