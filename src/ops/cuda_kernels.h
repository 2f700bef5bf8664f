// CUDA's side of the op registry: plain values, no GPU needed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "device/cuda_code.h"
#include "device/device_profile.h"
#include "graph/kernel_catalog.h"
#include "graph/lowered.h"

namespace plimsoll::ops {

struct CudaSettings {
  bool tf32 = false;  // f32 products may round their operands to tf32
  // Generated kernels may multiply 16-bit matrices by the matrix units and
  // copy beside their work: from sm_80 on.
  bool matrix_units = false;
  // cuDNN's attention, normalization and pooling, whose engines are compiled in
  // the process: for jobs, which rehearse that.
  bool library_layers = false;
  // Normalization and pooling also where plans have ours, to compare them.
  bool library_wherever = false;
  // Scalars, seeds and the starts of windows are handed over at each launch,
  // for ops that run one by one: loops change them.
  bool late_numbers = false;
};

// What a family's CUDA file offers for its ops. No stages: the dtype is not
// supported, and the catalogue says so by name.
struct CudaKernels {
  std::string_view op;
  Result<cuda::OpCode> (*code)(const graph::KernelQuery& query,
                               const CudaSettings& settings) = nullptr;
};

// Stands in the names of kernels by cuDNN, and of such as are compiled in the
// process.
inline constexpr std::string_view kLayerLibrary = ":cudnn";
inline constexpr std::string_view kCompiledLayer = ":cudnn:compiled";
// Ends the name of a kernel that writes f32 but rounds to the type it reads.
inline constexpr std::string_view kRounded = ":rounded";

// Whether a candidate of the catalogue below runs in CUDA's library of
// products, or in that of layers.
bool uses_product_library(const graph::KernelCandidate& candidate);
bool uses_layer_library(const graph::KernelCandidate& candidate);
bool uses_library_convolution(const graph::KernelCandidate& candidate);
bool uses_compiled_layer(const graph::KernelCandidate& candidate);

// Whether a device is one on which those were seen to be right, and to give the
// same bits each time.
bool suits_library_layers(const DeviceProfile& profile);

// The catalogue over all families, on a device of this profile.
class CudaCatalog final : public graph::KernelCatalog {
 public:
  // Which units a generated kernel may use is the profile's to say.
  CudaCatalog(DeviceProfile profile, CudaSettings settings);

  Result<std::vector<graph::KernelCandidate>> candidates(
      const graph::KernelQuery& query) const override;
  Result<cuda::OpCode> code(const graph::KernelQuery& query) const;
  // As a plan chose it, also where the library's layers were dropped since.
  Result<cuda::OpCode> code(const graph::Instruction& step) const;
  // For plans from here on. False: there were none.
  bool drop_library_layers() {
    return std::exchange(settings_.library_layers, false);
  }

 private:
  static Result<cuda::OpCode> code(const graph::KernelQuery& query,
                                   const CudaSettings& settings);

  DeviceProfile profile_;
  CudaSettings settings_;
};

// One kernel's source: several functions with the pointers each is given, as
// positions among the kernel's own. Functions of one phase run beside each
// other, each on its own blocks; phases run one after the other, which needs a
// single block.
struct CudaCall {
  const cuda::Function* function = nullptr;
  std::vector<int> inputs;
  std::vector<int> outputs;
  std::vector<int> numbers = {};  // pointers that are numbers
  int scratch = -1;               // -1: none
  int phase = 0;
  int first_block = 0;
  int blocks = 1;
};
std::string cuda_kernel_source(const std::vector<CudaCall>& calls,
                               int pointers);

}  // namespace plimsoll::ops
