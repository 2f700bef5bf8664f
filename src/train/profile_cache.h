// Measured profiles, kept in the user's cache.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "device/device_profile.h"

namespace plimsoll::train {

// Changes whenever the program does, or the library.
std::string program_identity(const std::string& program);

// The text kept under `kind` and `key`; null: none that `is_whole`.
std::optional<std::string> cached_text(
    const std::string& kind, const std::string& key,
    const std::function<bool(const std::string&)>& is_whole);
void keep_text(const std::string& kind, const std::string& key,
               const std::string& text);

// The profile kept under `kind` and `key`, or what `measure` says, which is
// then kept, unless it has a note on its figures. Two processes may measure at
// once: the first to finish is believed, so that all plans of a machine have
// the same floor.
Result<DeviceProfile> cached_profile(
    const std::string& kind, const std::string& key,
    const std::function<Result<DeviceProfile>()>& measure);

// Every one of a kind, whatever its key.
void forget_profiles(const std::string& kind);

}  // namespace plimsoll::train
