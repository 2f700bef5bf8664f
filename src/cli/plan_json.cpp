#include "cli/plan_json.h"

#include <nlohmann/json.hpp>

#include "train/plan_report_json.h"

namespace plimsoll::cli {

std::string plan_json(const train::PlanReport& report) {
  return train::to_json(report, /*whole_plan=*/false) + "\n";
}

std::string plan_json(const train::PlanReport& report, const Sweep& sweep,
                      const std::vector<train::SweepRow>& rows) {
  using Json = nlohmann::ordered_json;
  Json json = Json::parse(train::to_json(report, /*whole_plan=*/false));
  json["sweep"] = Json::array();
  for (const train::SweepRow& row : rows) {
    json["sweep"].push_back({{sweep.key, row.value},
                             {"host_peak", row.host_peak_bytes},
                             {"fits", row.fits},
                             {"step_seconds", row.step_seconds}});
    if (row.device_peak_bytes)
      json["sweep"].back()["device_peak"] = *row.device_peak_bytes;
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plimsoll::cli
