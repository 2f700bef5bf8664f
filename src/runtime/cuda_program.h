// A program's launches on a CUDA device: work of libraries, and kernels
// that each run several ops. What is merged changes no result.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda_device.h"
#include "ops/cuda_kernels.h"
#include "runtime/cuda_groups.h"
#include "runtime/program.h"

namespace plimsoll::runtime {

// For tests: part of the name of an op that is to fail, in the third step of a
// job and in every launch of tensors.
inline constexpr const char* kPlantVariable = "PLIMSOLL_PLANT_FAULT";

class CudaProgram {
 public:
  // Where launches say that they start: number `first` is the program's first.
  struct Mark {
    void* word = nullptr;  // of 4 bytes, as the device sees it; null: nowhere
    std::uint32_t first = 0;
  };

  // What gives a kernel for these calls, and what is said where it fails.
  using LoadKernel = std::function<Result<std::shared_ptr<CudaKernel>>(
      const std::vector<ops::CudaCall>& calls, int pointers,
      const std::string& name)>;

  // Loads every kernel of some of a program's launches, all of them the
  // device's. All of these must outlive the result. Without `load` kernels live
  // as long as the device, and up to `compilers` are compiled at once.
  static Result<std::unique_ptr<CudaProgram>> prepare(
      const Program& program, std::span<const Launch> launches,
      const ops::CudaCatalog& catalog, CudaDevice& device, const Mark& mark,
      const LoadKernel& load = {}, int compilers = 1);
  ~CudaProgram();

  // Enqueues all launches, with the inputs that the program is bound to now.
  Status enqueue(Stream& stream);
  // The same, waiting after each launch: an error names its ops.
  Status enqueue_checked(Stream& stream);

  // For tests: all launches, those with this part of a name at addresses that
  // are not there; and whether there are such.
  bool runs(std::string_view op) const;
  Status enqueue_faulty(std::string_view op, Stream& stream);

  // Launches one by one, for measurements.
  std::size_t launches() const;
  Status enqueue_launch(std::size_t number, Stream& stream);
  // With another mark, for programs that run between other work.
  Status enqueue_launch(std::size_t number, Stream& stream, const Mark& mark);
  // Its first op.
  const graph::OpDef& op_of(std::size_t number) const;
  // Its ops, and how they run.
  std::string describe(std::size_t number) const;
  // Its ops alone; and whether it writes the mark: libraries and transfers
  // say nothing when they start.
  const std::string& ops_of(std::size_t number) const;
  bool says_when_it_starts(std::size_t number) const;

 private:
  struct Step;
  struct Part;
  class Pointers;
  CudaProgram() = default;
  static GroupItem item_of(const Part& part, const Program& program);
  static ops::CudaCall call_of(const Part& part, const Grouped& place,
                               Pointers& pointers);
  static Step transfer_of(const Part& part);
  static std::vector<ops::CudaCall> calls_of(const Group& group,
                                             std::span<const Part> parts,
                                             Pointers& pointers);
  static Result<Step> make_step(const Group& group, std::span<const Part> parts,
                                CudaDevice& device, const LoadKernel& load);

  std::vector<Step> steps_;
};

}  // namespace plimsoll::runtime
