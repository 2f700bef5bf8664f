#include "device/device.h"

#include <gtest/gtest.h>

#include <vector>

#include "device/cpu/cpu_device.h"
#include "device/null/null_device.h"
#include "memory/arena.h"

namespace plimsoll {
namespace {

class ForeignEvent final : public Event {
 public:
  bool done() const noexcept override { return true; }
  Status synchronize() override { return {}; }
};

std::unique_ptr<Device> cpu() {
  return make_cpu_device(assumed_cpu_profile(read_cpu_info(), 2));
}

TEST(DeviceTest, TheCpuSaysWhatItIs) {
  const auto device = cpu();
  EXPECT_EQ(device->name(), "cpu");
  EXPECT_EQ(device->kind(), DeviceKind::cpu);
  EXPECT_EQ(device->space(), Space::host);
  const DeviceProfile& profile = device->profile();
  EXPECT_EQ(profile.kind, "cpu");
  EXPECT_EQ(profile.threads, 2);
  EXPECT_FALSE(profile.measured);
  EXPECT_GT(profile.f32_flops_per_second, profile.f64_flops_per_second);
  EXPECT_EQ(profile.granularity_bytes, device->memory().granularity_bytes());
}

TEST(DeviceTest, TheCpusStreamCopiesAtOnce) {
  const auto device = cpu();
  auto stream = *device->make_stream();
  const std::vector<int> from = {1, 2, 3};
  std::vector<int> to(3);
  EXPECT_TRUE(
      stream->copy(to.data(), from.data(), 12, CopyDirection::to_device).ok());
  EXPECT_EQ(to, from);
  auto event = *device->make_event();
  EXPECT_TRUE(stream->record(*event).ok());
  EXPECT_TRUE(stream->wait(*event).ok());
  EXPECT_TRUE(event->done());
  EXPECT_TRUE(event->synchronize().ok());
  EXPECT_TRUE(stream->synchronize().ok());
}

TEST(DeviceTest, BadCopiesAndForeignEventsAreErrors) {
  const auto device = cpu();
  auto stream = *device->make_stream();
  int x = 0;
  EXPECT_FALSE(stream->copy(&x, &x, -1, CopyDirection::within_host).ok());
  EXPECT_FALSE(stream->copy(nullptr, &x, 4, CopyDirection::to_device).ok());
  EXPECT_FALSE(stream->copy(&x, nullptr, 4, CopyDirection::to_host).ok());
  EXPECT_TRUE(
      stream->copy(nullptr, nullptr, 0, CopyDirection::within_host).ok());
  ForeignEvent event;
  EXPECT_FALSE(stream->record(event).ok());
  EXPECT_FALSE(stream->wait(event).ok());
}

// A plan for a device that is not here: its arena is committed, charged and
// counted, its copies accepted, and not one byte is touched.
TEST(DeviceTest, TheNullDeviceOnlyCounts) {
  DeviceProfile profile;
  profile.granularity_bytes = 2 << 20;
  const auto device = make_null_device(profile, std::int64_t{80} << 30);
  EXPECT_EQ(device->kind(), DeviceKind::null);
  Ledger ledger;
  const Holding holding = {"job", Purpose::activations, device->space(),
                           std::int64_t{64} << 30};
  const auto arena = Arena::commit(device->memory(), ledger, {&holding, 1});
  ASSERT_TRUE(arena.ok()) << arena.error().message;
  EXPECT_EQ(ledger.held_bytes(Space::device), std::int64_t{64} << 30);
  EXPECT_EQ(device->memory().mapped_bytes(), std::int64_t{64} << 30);
  auto stream = *device->make_stream();
  EXPECT_TRUE(stream
                  ->copy(arena->data(), arena->data() + 4096, 4096,
                         CopyDirection::within_device)
                  .ok());
  EXPECT_FALSE(Arena::commit(device->memory(), ledger, {&holding, 1}).ok());
  EXPECT_EQ(ledger.held_bytes(Space::device), std::int64_t{64} << 30);
}

TEST(DeviceTest, KindsHaveNames) {
  EXPECT_EQ(name_of(DeviceKind::cpu), "cpu");
  EXPECT_EQ(name_of(DeviceKind::cuda), "cuda");
  EXPECT_EQ(name_of(DeviceKind::null), "null");
}

}  // namespace
}  // namespace plimsoll
