// A stand-in for libnvidia-ml.so.1 with two GPUs, for tests: process 4711
// holds memory on the first, process 4712 an amount that is not told. On the
// second, more processes run than anyone reserves room for at first. This
// process holds what fake_cuda_module says on the first; with FAKE_NVML_MUTE
// that is in the sum alone.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "device/nvml/nvml_api.h"

namespace {

using namespace plimsoll::nvml;

constexpr unsigned long long kMiB = 1 << 20;
constexpr unsigned int kCrowd = 100;

unsigned long long held_here(unsigned int index) {
  const char* text = std::getenv("FAKE_GPU_HELD");
  return text != nullptr && index == 0 ? std::strtoull(text, nullptr, 10) : 0;
}

unsigned int index_of(Device device) {
  return static_cast<unsigned int>(reinterpret_cast<unsigned long>(device)) - 1;
}

}  // namespace

extern "C" {

Return nvmlInit_v2() { return kSuccess; }
Return nvmlShutdown() { return kSuccess; }
const char* nvmlErrorString(Return) { return "an error"; }

Return nvmlSystemGetDriverVersion(char* text, unsigned int length) {
  std::snprintf(text, length, "580.00");
  return kSuccess;
}

Return nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = 2;
  return kSuccess;
}

Return nvmlDeviceGetHandleByIndex_v2(unsigned int index, Device* device) {
  *device = reinterpret_cast<Device>(static_cast<unsigned long>(index) + 1);
  return kSuccess;
}

Return nvmlDeviceGetName(Device device, char* text, unsigned int length) {
  std::snprintf(text, length, "NVIDIA Fake %u", index_of(device));
  return kSuccess;
}

Return nvmlDeviceGetUUID(Device device, char* text, unsigned int length) {
  std::snprintf(text, length, "GPU-0000000%u-89ab-cdef-0123-456789abcdef",
                index_of(device));
  return kSuccess;
}

Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* info) {
  *info = {};
  std::snprintf(info->bus_id, sizeof(info->bus_id), "00000000:%02X:00.0",
                0x1A + index_of(device));
  return kSuccess;
}

Return nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
  const unsigned long long total = (8ull << index_of(device)) * 1024 * kMiB;
  const unsigned long long used = 600 * kMiB + held_here(index_of(device));
  *memory = {total, total - used, used};
  return kSuccess;
}

Return nvmlDeviceGetCudaComputeCapability(Device, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return kSuccess;
}

Return nvmlDeviceGetComputeRunningProcesses_v3(Device device,
                                               unsigned int* count,
                                               ProcessInfo* processes) {
  const unsigned int running = index_of(device) == 0 ? 3 : kCrowd;
  const unsigned int room = *count;
  *count = running;
  if (room < running) return kInsufficientSize;
  for (unsigned int i = 0; i < running; ++i) {
    processes[i] = {1000 + i, i * kMiB, 0, 0};
  }
  if (index_of(device) == 0) {
    processes[1] = {4711, 518 * kMiB, 0, 0};
    processes[2] = {4712, kNotAvailable, 0, 0};
    if (held_here(0) > 0 && std::getenv("FAKE_NVML_MUTE") == nullptr) {
      processes[0] = {static_cast<unsigned int>(getpid()), held_here(0), 0, 0};
    }
  }
  return kSuccess;
}

}  // extern "C"
