// The optimisers with their keys, defaults and ranges: one table for job files
// and the C++ API. Names and defaults are Keras's.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "train/job_spec.h"
#include "train/layers/layer_key.h"

namespace plimsoll::train {

struct OptimizerNumber {
  std::string_view key;
  double OptimizerSpec::*field = nullptr;
  RealRange range = {};
};
struct OptimizerSwitch {
  std::string_view key;
  bool OptimizerSpec::*field = nullptr;
};

struct OptimizerDef {
  std::string_view type;
  OptimizerSpec defaults;
  std::vector<OptimizerNumber> numbers;
  std::vector<OptimizerSwitch> switches = {};
};

std::span<const OptimizerDef> optimizer_defs();
// Null where there is none of that type.
const OptimizerDef* find_optimizer(std::string_view type);

// One of these at a time.
std::span<const OptimizerNumber> clipping_keys();
inline constexpr const char* kOneClipping =
    "only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be set";

// An error names the optimiser, the key and what would be right.
Status check_optimizer(const OptimizerSpec& optimizer);

}  // namespace plimsoll::train
