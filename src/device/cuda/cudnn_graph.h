// Operations of a graph of cuDNN's, and the tensors that they share.
#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "base/dtype.h"
#include "device/cuda/cudnn_library.h"

namespace plimsoll::cuda {

cudnnDataType_t cudnn_type(DType dtype);

// Extents as the library names them, [N, C, H, W] or [B, N, S, D], wherever
// elements lie.
struct CudnnLayout {
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides;
};
CudnnLayout row_major(std::vector<std::int64_t> extents);
// Of [N, H, W, C].
CudnnLayout channels_last(std::int64_t n, std::int64_t h, std::int64_t w,
                          std::int64_t c);
// The last two extents in turn.
CudnnLayout turned(CudnnLayout layout);

// The first mistake stays, and is told at the end.
class CudnnGraph {
 public:
  // In memory: a launch gives pointers in the order in which these were made.
  int operand(cudnnDataType_t type, const CudnnLayout& layout);
  // What one operation hands to another.
  int between(cudnnDataType_t type, const CudnnLayout& layout);
  // The same in all launches.
  int number(float value);

  // One or two operands, or with a third that chooses; the axis is that of
  // places which are to be told.
  void pointwise(cudnnPointwiseMode_t mode, std::initializer_list<int> inputs,
                 int output, cudnnDataType_t math = CUDNN_DATA_FLOAT,
                 std::int64_t axis = -1);
  void reduce(cudnnReduceTensorOp_t how, int input, int output);
  void product(int a, int b, int output);
  // The same elements under other extents.
  void view(int input, int output);

  // Of one kind, with its attributes set by name.
  class Operation {
   public:
    Operation& set(cudnnBackendAttributeName_t name, int tensor);
    Operation& set(cudnnBackendAttributeName_t name,
                   const CudnnDescriptor& part);
    Operation& set(cudnnBackendAttributeName_t name,
                   cudnnBackendAttributeType_t type, const void* value);
    void add();

   private:
    friend CudnnGraph;
    Operation(CudnnGraph& graph, cudnnBackendDescriptorType_t type);
    CudnnGraph& graph_;
    CudnnDescriptor made_;
  };
  Operation operation(cudnnBackendDescriptorType_t type);

  const Status& status() const { return status_; }
  const std::vector<CudnnDescriptor>& operations() const { return operations_; }
  const std::vector<std::int64_t>& operand_ids() const { return operand_ids_; }
  const std::vector<std::int64_t>& number_ids() const { return number_ids_; }
  const std::vector<float>& numbers() const { return numbers_; }

 private:
  int tensor(cudnnDataType_t type, const CudnnLayout& layout,
             std::optional<cudnnBackendAttributeName_t> kind);
  bool keep(Status status);

  Status status_;
  std::vector<CudnnDescriptor> tensors_;
  std::vector<CudnnDescriptor> operations_;
  std::vector<std::int64_t> operand_ids_;
  std::vector<std::int64_t> number_ids_;
  std::vector<float> numbers_;
};

}  // namespace plimsoll::cuda
