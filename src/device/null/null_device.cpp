#include "device/null/null_device.h"

#include <utility>

#include "device/inline_stream.h"
#include "device/null/null_memory_source.h"

namespace plimsoll {
namespace {

class NullDevice final : public Device {
 public:
  NullDevice(DeviceProfile profile, std::int64_t memory_bytes)
      : profile_(std::move(profile)),
        memory_(memory_bytes, profile_.granularity_bytes) {}

  std::string_view name() const override { return "null"; }
  DeviceKind kind() const override { return DeviceKind::null; }
  const DeviceProfile& profile() const override { return profile_; }
  MemorySource& memory() override { return memory_; }
  Space space() const override { return Space::device; }

  Result<std::unique_ptr<Stream>> make_stream() override {
    return std::unique_ptr<Stream>(new InlineStream(/*moves_bytes=*/false));
  }
  Result<std::unique_ptr<Event>> make_event() override {
    return std::unique_ptr<Event>(new InlineEvent());
  }

 private:
  DeviceProfile profile_;
  NullMemorySource memory_;
};

}  // namespace

std::unique_ptr<Device> make_null_device(DeviceProfile profile,
                                         std::int64_t memory_bytes) {
  return std::make_unique<NullDevice>(std::move(profile), memory_bytes);
}

}  // namespace plimsoll
