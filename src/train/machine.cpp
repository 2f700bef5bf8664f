#include "train/machine.h"

#include <fmt/core.h>

#include "base/hash.h"

namespace plimsoll::train {
namespace {

void add_versions(const DeviceProfile& profile, std::string& text) {
  for (const auto& [library, version] : profile.library_versions) {
    text += fmt::format(" {}={}", library, version);
  }
}

}  // namespace

Status Machine::open_device(int ordinal, const std::string& compiler) {
  PLIMSOLL_ASSIGN(meter_, DeviceMeter::open(ordinal));
  PLIMSOLL_ASSIGN(CudaModule* const module, open_cuda_module());
  PLIMSOLL_ASSIGN(device_, module->open(ordinal, compiler));
  meter_->read();
  if (!device_profile_) return {};
  const auto version = [](const DeviceProfile& profile) {
    const auto found = profile.library_versions.find("cublaslt");
    return found != profile.library_versions.end() ? found->second : "";
  };
  const std::string planned = version(*device_profile_);
  const std::string here = version(device_->profile());
  if (planned.empty() || here.empty() || planned == here) return {};
  return Error{ErrorCode::device,
               fmt::format("the device was measured with cuBLASLt {}, this "
                           "process has {}: empty Plimsoll's cache, so that it "
                           "is measured again",
                           planned, here)};
}

Status Machine::check_device(std::int64_t budget_bytes,
                             std::int64_t forecast_bytes) {
  if (!device_) return {};
  const std::int64_t held = device_bytes();
  if (held <= budget_bytes) return {};
  return Error{
      ErrorCode::does_not_fit,
      fmt::format("the driver holds {} on the device for this process, "
                  "more than the budget of {}; the forecast was {}",
                  format_bytes(held), format_bytes(budget_bytes),
                  format_bytes(forecast_bytes))};
}

std::string Machine::fingerprint() const {
  std::string text =
      fmt::format("{} {} {} threads={}", profile_.kind, profile_.name,
                  profile_.instruction_set, profile_.threads);
  add_versions(profile_, text);
  if (device_profile_) {
    text +=
        fmt::format(" device={} {} {}", device_profile_->kind,
                    device_profile_->name, device_profile_->instruction_set);
    add_versions(*device_profile_, text);
  }
  return fmt::format("{} {}", hash_text(stable_hash(text)), text);
}

}  // namespace plimsoll::train
