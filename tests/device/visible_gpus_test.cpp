#include "device/nvml/visible_gpus.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace plimsoll {
namespace {

TEST(VisibleGpus, WritesAUuidAsNvmlDoes) {
  EXPECT_EQ(gpu_uuid_text({0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x10,
                           0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe}),
            "GPU-01234567-89ab-cdef-1032-547698badcfe");
}

std::vector<GpuFacts> two_gpus() {
  std::vector<GpuFacts> devices(2);
  devices[0].uuid = "GPU-01234567-89ab-cdef-1032-547698badcfe";
  devices[0].pci_bus_id = "00000000:1A:00.0";
  devices[1].uuid = "GPU-11111111-89ab-cdef-1032-547698badcfe";
  devices[1].pci_bus_id = "00010000:1A:00.0";
  return devices;
}

TEST(VisibleGpus, AreFoundByTheirUuid) {
  // The bus says otherwise, and is not asked.
  EXPECT_EQ(
      find_gpu({"GPU-11111111-89ab-cdef-1032-547698badcfe", "0000:1a:00.0"},
               two_gpus()),
      1u);
  EXPECT_EQ(
      find_gpu({"MIG-01234567-89ab-cdef-1032-547698badcfe", ""}, two_gpus()),
      0u);
}

TEST(VisibleGpus, APartIsFoundByTheBus) {
  const std::string part = "GPU-22222222-89ab-cdef-1032-547698badcfe";
  EXPECT_EQ(find_gpu({part, "0000:1a:00.0"}, two_gpus()), 0u);
  EXPECT_EQ(find_gpu({part, "10000:1a:00.0"}, two_gpus()), 1u);
  EXPECT_EQ(find_gpu({part, "0000:1b:00.0"}, two_gpus()), std::nullopt);
  EXPECT_EQ(find_gpu({part, ""}, two_gpus()), std::nullopt);
  EXPECT_EQ(find_gpu({part, "nothing"}, {GpuFacts()}), std::nullopt);
}

TEST(VisibleGpus, AreThoseOfTheDriverInItsOrder) {
  unsetenv("CUDA_VISIBLE_DEVICES");
  unsetenv("CUDA_DEVICE_ORDER");
  const auto gpus = visible_gpus(PLIMSOLL_FAKE_CUDA);
  ASSERT_TRUE(gpus.ok()) << gpus.error().message;
  ASSERT_EQ(gpus->size(), 2u);
  EXPECT_EQ((*gpus)[0].uuid, "GPU-00000000-89ab-cdef-0123-456789abcdef")
      << "the order of the bus, unless somebody says otherwise";
  EXPECT_EQ((*gpus)[1].pci_bus_id, "0000:1b:00.0");

  setenv("CUDA_DEVICE_ORDER", "FASTEST_FIRST", 1);
  const auto fastest = visible_gpus(PLIMSOLL_FAKE_CUDA);
  ASSERT_TRUE(fastest.ok());
  EXPECT_EQ((*fastest)[0].uuid, "GPU-00000001-89ab-cdef-0123-456789abcdef");

  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  const auto none = visible_gpus(PLIMSOLL_FAKE_CUDA);
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->empty());
  unsetenv("CUDA_VISIBLE_DEVICES");
  unsetenv("CUDA_DEVICE_ORDER");
}

TEST(VisibleGpus, WithoutADriverTheLibraryIsNamed) {
  const auto gpus = visible_gpus("libnot-there.so.1");
  ASSERT_FALSE(gpus.ok());
  EXPECT_EQ(gpus.error().message.find(
                "no NVIDIA driver: libnot-there.so.1 cannot be opened ("),
            0u);
  const auto another = visible_gpus("libm.so.6");
  ASSERT_FALSE(another.ok());
  EXPECT_NE(another.error().message.find("lacks functions"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll
