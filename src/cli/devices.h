// `plimsoll devices`: what there is to train on, and which limit binds.
#pragma once

#include <string>

#include "cli/cuda_listing.h"
#include "device/cpu/cpu_info.h"
#include "memory/budget.h"

namespace plimsoll::cli {

std::string devices_text(const CpuInfo& cpu, const SystemMemory& memory,
                         const Budget& budget, const CudaListing& cuda);
std::string devices_json(const CpuInfo& cpu, const SystemMemory& memory,
                         const Budget& budget, const CudaListing& cuda);

}  // namespace plimsoll::cli
