// A stand-in for libcuda.so.1 over fake_nvml's two GPUs: as the driver, it has
// the second one first unless told to go by the bus, and hides what
// CUDA_VISIBLE_DEVICES (one number, or nothing) leaves out.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

constexpr int kNoDevice = 100;

const char* visible() { return std::getenv("CUDA_VISIBLE_DEVICES"); }

// NVML's number of a device.
int index_of(int ordinal) {
  const char* order = std::getenv("CUDA_DEVICE_ORDER");
  const bool by_bus =
      order != nullptr && std::string_view(order) == "PCI_BUS_ID";
  if (const char* one = visible()) ordinal = std::atoi(one);
  return by_bus ? ordinal : 1 - ordinal;
}

}  // namespace

extern "C" {

int cuInit(unsigned int) {
  return visible() != nullptr && *visible() == '\0' ? kNoDevice : 0;
}

int cuDeviceGetCount(int* count) {
  *count = visible() != nullptr ? 1 : 2;
  return 0;
}

int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}

int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  static constexpr unsigned char kDigits[16] = {
      0x00, 0x00, 0x00, 0x00, 0x89, 0xab, 0xcd, 0xef,
      0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
  std::memcpy(uuid, kDigits, sizeof(kDigits));
  uuid[3] = static_cast<unsigned char>(index_of(device));
  return 0;
}

int cuDeviceGetPCIBusId(char* text, int length, int device) {
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0",
                0x1a + index_of(device));
  return 0;
}

}  // extern "C"
