// The few declarations of nvml.h that are used here, under names of our own:
// the header comes with CUDA, the library with the driver.
#pragma once

namespace plimsoll::nvml {

using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kInsufficientSize = 7;
inline constexpr unsigned long long kNotAvailable = ~0ull;

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct ProcessInfo {
  unsigned int pid;
  unsigned long long used_gpu_memory;
  unsigned int gpu_instance_id;
  unsigned int compute_instance_id;
};

struct PciInfo {
  char bus_id_legacy[16];
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
  unsigned int pci_device_id;
  unsigned int pci_subsystem_id;
  char bus_id[32];
};

using Device = struct DeviceHandle*;

using Init = Return();
using Shutdown = Return();
using ErrorString = const char*(Return);
using SystemGetDriverVersion = Return(char* text, unsigned int length);
using DeviceGetCount = Return(unsigned int* count);
using DeviceGetHandleByIndex = Return(unsigned int index, Device* device);
using DeviceGetText = Return(Device device, char* text, unsigned int length);
using DeviceGetPciInfo = Return(Device device, PciInfo* info);
using DeviceGetMemoryInfo = Return(Device device, Memory* memory);
using DeviceGetCudaComputeCapability = Return(Device device, int* major,
                                              int* minor);
using DeviceGetComputeRunningProcesses = Return(Device device,
                                                unsigned int* count,
                                                ProcessInfo* processes);

}  // namespace plimsoll::nvml
