// What each layer gives and holds in training, read off the plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::train {

struct JobSpec;
struct PlannedJob;

struct LayerRow {
  std::string name;
  std::string type;
  std::string output;           // "[B, 64, 64, 32]"
  std::int64_t parameters = 0;  // trainable numbers
  // Parameters, statistics and the optimiser's state.
  std::int64_t state_bytes = 0;
  // What the forward pass makes there and the backward pass reads. What a
  // fused kernel makes counts where its last op stands.
  std::int64_t kept_bytes = 0;
};

// One row a layer, and one without a type for the loss and the counters. Empty
// where the job does not train.
std::vector<LayerRow> layer_rows(const JobSpec& job, const PlannedJob& planned);

// A table with totals, for people.
std::string layers_text(const std::vector<LayerRow>& rows);

}  // namespace plimsoll::train
