// What pl::config was told, for the whole process.
#pragma once

#include <optional>
#include <string>

#include "memory/budget.h"

namespace plimsoll::train {

struct DeviceConfig {
  std::optional<std::int64_t> limit_bytes;
  bool growth = true;

  std::optional<SystemLimit> limit() const {
    if (!limit_bytes) return std::nullopt;
    return SystemLimit{*limit_bytes, "pl::config limit"};
  }
};

// Defaults for a device that was never named.
DeviceConfig configured(const std::string& device);

// From here on nothing may be set: a session goes by what it was.
void freeze_config();
// As in a fresh process, for tests.
void reset_config();

}  // namespace plimsoll::train
