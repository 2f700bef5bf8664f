// The work of CUDA's libraries in a job, and what it costs the host: each kind
// of product and of layer brings kernels of its own into the process, which
// only running them shows.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda_device.h"
#include "graph/lowered.h"
#include "ops/cuda_kernels.h"
#include "train/device_meter.h"

namespace plimsoll::train {

// What is not a function among the stages of a program's instructions.
Status add_library_work(const graph::LoweredGraph& program,
                        const ops::CudaCatalog& catalog,
                        std::vector<cuda::Stage>& work);

// Whether it is a layer whose engine is compiled in the process.
bool is_compiled(const cuda::Stage& stage);
// Such layers of the work. Jobs and rehearsals make these first: what compiling
// takes is free again before other kernels are loaded, and equal layers share
// the engines as long as these are kept.
Result<std::vector<std::unique_ptr<CudaWork>>> compile_layers(
    CudaDevice& device, const std::vector<cuda::Stage>& work);

// A line for each kind, with how many there are of it. Where operands lie in
// memory is left out.
std::string to_text(const std::vector<cuda::Stage>& work);
Result<std::vector<cuda::Stage>> library_work_from_text(
    const std::string& text);

struct LibraryCost {
  std::int64_t host_bytes = 0;
  std::int64_t device_bytes = 0;
};
// Runs the work once, in a process that has run none, on memory of the device
// for its largest operands; where there is not so much, it is only prepared.
Result<LibraryCost> measure_library_work(CudaDevice& device, DeviceMeter& meter,
                                         const std::vector<cuda::Stage>& work);

// What a process that has run none of it grows by with work, as text. `job` is
// the same for all batches of a job that are planned alike.
using LibraryMeasure = std::function<Result<LibraryCost>(
    const std::string& work, const std::string& job)>;

}  // namespace plimsoll::train
