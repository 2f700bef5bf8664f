// A program's launches on a CUDA device: products of the library, and kernels
// that each run several ops. What is merged changes no result.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/cuda_device.h"
#include "ops/cuda_kernels.h"
#include "runtime/cuda_groups.h"
#include "runtime/program.h"

namespace plimsoll::runtime {

class CudaProgram {
 public:
  // Loads every kernel of some of a program's launches, all of them the
  // device's. All of these must outlive the result.
  static Result<std::unique_ptr<CudaProgram>> prepare(
      const Program& program, std::span<const Launch> launches,
      const ops::CudaCatalog& catalog, CudaDevice& device);
  ~CudaProgram();

  // Enqueues all launches, with the inputs that the program is bound to now.
  Status enqueue(Stream& stream);
  // The same, waiting after each launch: an error names its ops.
  Status enqueue_checked(Stream& stream);

  // Launches one by one, for measurements.
  std::size_t launches() const;
  Status enqueue_launch(std::size_t number, Stream& stream);
  // Its ops, and how they run.
  std::string describe(std::size_t number) const;

 private:
  struct Step;
  struct Part;
  class Pointers;
  CudaProgram() = default;
  static GroupItem item_of(const Part& part, const Program& program);
  static ops::CudaCall call_of(const Part& part, const Grouped& place,
                               Pointers& pointers);
  static Step transfer_of(const Part& part);
  static Result<Step> make_step(const Group& group, std::span<const Part> parts,
                                CudaDevice& device);

  std::vector<Step> steps_;
};

}  // namespace plimsoll::runtime
