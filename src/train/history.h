// What training has reached, epoch by epoch: goes into the summary and, as
// JSON, into checkpoints.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/state.h"

namespace plimsoll::train {

struct History {
  std::int64_t epoch = 0;     // finished epochs
  std::int64_t position = 0;  // examples of the running epoch already trained
  data::State stream;         // where a stream stands in it; else empty
  std::int64_t steps = 0;
  // Trained since the last update, where several batches have one.
  std::int64_t group_batches = 0;
  std::int64_t group_examples = 0;
  std::vector<double> loss_by_epoch;
  std::map<std::string, std::vector<double>> metrics;  // by name, by epoch
  std::vector<std::int64_t> anonymous_bytes_by_epoch;
  friend bool operator==(const History&, const History&) = default;
};

std::string to_json(const History& history);
Result<History> history_from_json(const std::string& text);

}  // namespace plimsoll::train
