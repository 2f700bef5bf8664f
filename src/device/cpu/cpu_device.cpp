#include "device/cpu/cpu_device.h"

#include <tbb/version.h>
#include <unistd.h>

#include <utility>

#include "device/cpu/host_memory_source.h"
#include "device/inline_stream.h"

namespace plimsoll {
namespace {

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(DeviceProfile profile) : profile_(std::move(profile)) {}

  std::string_view name() const override { return "cpu"; }
  DeviceKind kind() const override { return DeviceKind::cpu; }
  const DeviceProfile& profile() const override { return profile_; }
  MemorySource& memory() override { return memory_; }
  Space space() const override { return Space::host; }

  Result<std::unique_ptr<Stream>> make_stream() override {
    return std::unique_ptr<Stream>(new InlineStream(/*moves_bytes=*/true));
  }
  Result<std::unique_ptr<Event>> make_event() override {
    return std::unique_ptr<Event>(new InlineEvent());
  }

 private:
  DeviceProfile profile_;
  HostMemorySource memory_;
};

// f32 rate of one core, of the slower machines of each kind.
double assumed_flops_per_second(InstructionSet set) {
  switch (set) {
    case InstructionSet::amx:
    case InstructionSet::avx512:
      return 60e9;
    case InstructionSet::avx2:
      return 30e9;
    case InstructionSet::generic:
      break;
  }
  return 5e9;
}

}  // namespace

DeviceProfile assumed_cpu_profile(const CpuInfo& info, int threads) {
  DeviceProfile profile;
  profile.name = info.brand;
  profile.kind = name_of(DeviceKind::cpu);
  profile.instruction_set = name_of(info.instruction_set);
  profile.threads = threads;
  profile.library_versions["oneTBB"] = TBB_runtime_version();
  const double rate = assumed_flops_per_second(info.instruction_set) * threads;
  profile.f32_flops_per_second = rate;
  profile.f64_flops_per_second = rate / 2;
  profile.bf16_flops_per_second =
      info.instruction_set == InstructionSet::amx ? rate * 8 : rate;
  profile.memory_bytes_per_second = 8e9;
  profile.copy_to_device_bytes_per_second = 4e9;
  profile.copy_to_host_bytes_per_second = 4e9;
  profile.alignment_bytes = 64;
  profile.granularity_bytes = sysconf(_SC_PAGESIZE);
  return profile;
}

std::unique_ptr<Device> make_cpu_device(DeviceProfile profile) {
  return std::make_unique<CpuDevice>(std::move(profile));
}

}  // namespace plimsoll
