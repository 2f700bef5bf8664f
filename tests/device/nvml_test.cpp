#include "device/nvml/nvml.h"

#include <gtest/gtest.h>

#include "base/units.h"
#include "promises/allocation_count.h"

namespace plimsoll {
namespace {

TEST(Nvml, WithoutADriverTheLibraryIsNamed) {
  const auto nvml = Nvml::open("libnot-there.so.1");
  ASSERT_FALSE(nvml.ok());
  EXPECT_EQ(nvml.error().code, ErrorCode::device);
  EXPECT_EQ(nvml.error().message.find(
                "no NVIDIA driver: libnot-there.so.1 cannot be opened ("),
            0u)
      << nvml.error().message;
}

TEST(Nvml, AnotherLibraryLacksFunctions) {
  const auto nvml = Nvml::open("libm.so.6");
  ASSERT_FALSE(nvml.ok());
  EXPECT_NE(nvml.error().message.find("lacks functions"), std::string::npos);
  EXPECT_NE(nvml.error().message.find("nvmlInit_v2"), std::string::npos);
}

TEST(Nvml, ListsDevices) {
  const auto nvml = Nvml::open(PLIMSOLL_FAKE_NVML);
  ASSERT_TRUE(nvml.ok()) << nvml.error().message;
  EXPECT_EQ(nvml->driver_version(), "580.00");
  const auto devices = nvml->devices();
  ASSERT_TRUE(devices.ok());
  ASSERT_EQ(devices->size(), 2u);
  const GpuFacts& second = (*devices)[1];
  EXPECT_EQ(second.name, "NVIDIA Fake 1");
  EXPECT_EQ(second.uuid, "GPU-00000001-89ab-cdef-0123-456789abcdef");
  EXPECT_EQ(second.pci_bus_id, "00000000:1B:00.0");
  EXPECT_EQ(second.total_bytes, 16 * kGiB);
  EXPECT_EQ(second.free_bytes, 16 * kGiB - 600 * kMiB);
  EXPECT_EQ(second.used_bytes, 600 * kMiB);
  EXPECT_EQ(second.capability_major, 9);
  EXPECT_EQ(second.capability_minor, 0);
}

TEST(Nvml, TellsWhatAProcessHolds) {
  auto nvml = Nvml::open(PLIMSOLL_FAKE_NVML);
  ASSERT_TRUE(nvml.ok());
  EXPECT_EQ(nvml->process_bytes(0, 4711), 518 * kMiB);
  EXPECT_EQ(nvml->process_bytes(0, 4712), std::nullopt) << "not told";
  EXPECT_EQ(nvml->process_bytes(0, 5), std::nullopt) << "not there";
  EXPECT_EQ(nvml->process_bytes(2, 4711), std::nullopt) << "no such device";
  EXPECT_EQ(nvml->process_bytes(-1, 4711), std::nullopt);
  EXPECT_EQ(nvml->process_bytes(1, 1099), 99 * kMiB) << "behind a crowd";
  EXPECT_EQ(nvml->processes(0), 3);
  EXPECT_EQ(nvml->processes(1), 100);
  EXPECT_EQ(nvml->processes(2), std::nullopt);
  EXPECT_EQ(nvml->used_bytes(0), 600 * kMiB);
  EXPECT_EQ(nvml->used_bytes(2), std::nullopt);
}

TEST(Nvml, TakesNoHeapInALoop) {
  auto nvml = Nvml::open(PLIMSOLL_FAKE_NVML);
  ASSERT_TRUE(nvml.ok());
  ASSERT_TRUE(nvml->process_bytes(1, 1001));
  testing::learn_modules();
  testing::start_counting();
  for (int i = 0; i < 100; ++i) {
    nvml->process_bytes(1, 1001);
    nvml->process_bytes(0, 4711);
    nvml->used_bytes(0);
  }
  testing::stop_counting();
  EXPECT_EQ(testing::own_calls(), 0) << testing::own_callers();
}

}  // namespace
}  // namespace plimsoll
