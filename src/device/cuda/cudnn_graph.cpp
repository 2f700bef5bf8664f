#include "device/cuda/cudnn_graph.h"

#include <utility>

namespace plimsoll::cuda {
namespace {

template <class Value>
Result<CudnnDescriptor> settings(cudnnBackendDescriptorType_t type,
                                 cudnnBackendAttributeName_t math_name,
                                 cudnnDataType_t math,
                                 cudnnBackendAttributeName_t name,
                                 cudnnBackendAttributeType_t value_type,
                                 Value value) {
  PLIMSOLL_ASSIGN(CudnnDescriptor made, CudnnDescriptor::create(type));
  PLIMSOLL_RETURN_IF_ERROR(made.set(math_name, CUDNN_TYPE_DATA_TYPE, 1, &math));
  PLIMSOLL_RETURN_IF_ERROR(made.set(name, value_type, 1, &value));
  return made;
}

// Normalization takes an id of 0 for an operand that is not there.
std::int64_t id_of(int tensor) { return tensor + 1; }

}  // namespace

cudnnDataType_t cudnn_type(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return CUDNN_DATA_BFLOAT16;
    case DType::f16:
      return CUDNN_DATA_HALF;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

CudnnLayout row_major(std::vector<std::int64_t> extents) {
  std::vector<std::int64_t> strides(extents.size(), 1);
  for (std::size_t i = extents.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * extents[i];
  }
  return {std::move(extents), std::move(strides)};
}

CudnnLayout channels_last(std::int64_t n, std::int64_t h, std::int64_t w,
                          std::int64_t c) {
  return {{n, c, h, w}, {h * w * c, 1, w * c, c}};
}

CudnnLayout turned(CudnnLayout layout) {
  for (auto* list : {&layout.extents, &layout.strides}) {
    std::swap((*list)[2], (*list)[3]);
  }
  return layout;
}

bool CudnnGraph::keep(Status status) {
  if (status_ && !status) status_ = std::move(status);
  return status_.ok();
}

int CudnnGraph::tensor(cudnnDataType_t type, const CudnnLayout& layout,
                       std::optional<cudnnBackendAttributeName_t> kind) {
  // Every buffer of a plan begins at such a multiple.
  constexpr std::int64_t kAlignment = 16;
  const int number = static_cast<int>(tensors_.size());
  auto made = CudnnDescriptor::create(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  if (!made) {
    keep(std::move(made).error());
    tensors_.emplace_back();
    return number;
  }
  keep(made->set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type));
  keep(made->set(CUDNN_ATTR_TENSOR_DIMENSIONS, layout.extents));
  keep(made->set(CUDNN_ATTR_TENSOR_STRIDES, layout.strides));
  keep(made->set(CUDNN_ATTR_TENSOR_UNIQUE_ID, {id_of(number)}));
  keep(made->set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {kAlignment}));
  if (kind) {
    const bool yes = true;
    keep(made->set(*kind, CUDNN_TYPE_BOOLEAN, 1, &yes));
  }
  keep(made->finalize());
  tensors_.push_back(*std::move(made));
  return number;
}

int CudnnGraph::operand(cudnnDataType_t type, const CudnnLayout& layout) {
  const int made = tensor(type, layout, std::nullopt);
  operand_ids_.push_back(id_of(made));
  return made;
}

int CudnnGraph::between(cudnnDataType_t type, const CudnnLayout& layout) {
  return tensor(type, layout, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
}

int CudnnGraph::number(float value) {
  const int made = tensor(CUDNN_DATA_FLOAT, row_major({1, 1, 1, 1}),
                          CUDNN_ATTR_TENSOR_IS_BY_VALUE);
  number_ids_.push_back(id_of(made));
  numbers_.push_back(value);
  return made;
}

CudnnGraph::Operation::Operation(CudnnGraph& graph,
                                 cudnnBackendDescriptorType_t type)
    : graph_(graph) {
  auto made = CudnnDescriptor::create(type);
  if (made) {
    made_ = *std::move(made);
  } else {
    graph_.keep(std::move(made).error());
  }
}

CudnnGraph::Operation CudnnGraph::operation(cudnnBackendDescriptorType_t type) {
  return {*this, type};
}

CudnnGraph::Operation& CudnnGraph::Operation::set(
    cudnnBackendAttributeName_t name, int tensor) {
  return set(name, graph_.tensors_[static_cast<std::size_t>(tensor)]);
}

CudnnGraph::Operation& CudnnGraph::Operation::set(
    cudnnBackendAttributeName_t name, const CudnnDescriptor& part) {
  if (graph_.status_) graph_.keep(made_.set(name, part));
  return *this;
}

CudnnGraph::Operation& CudnnGraph::Operation::set(
    cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
    const void* value) {
  if (graph_.status_) graph_.keep(made_.set(name, type, 1, value));
  return *this;
}

void CudnnGraph::Operation::add() {
  if (!graph_.status_ || !graph_.keep(made_.finalize())) return;
  graph_.operations_.push_back(std::move(made_));
}

void CudnnGraph::pointwise(cudnnPointwiseMode_t mode,
                           std::initializer_list<int> inputs, int output,
                           cudnnDataType_t math, std::int64_t axis) {
  auto how = settings(
      CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MATH_PREC, math,
      CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  if (!how) {
    keep(std::move(how).error());
    return;
  }
  if (axis >= 0) keep(how->set(CUDNN_ATTR_POINTWISE_AXIS, {axis}));
  keep(how->finalize());
  Operation made = operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  made.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, *how);
  constexpr cudnnBackendAttributeName_t kNames[] = {
      CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
      CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
      CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  const cudnnBackendAttributeName_t* name = kNames;
  for (const int input : inputs) made.set(*name++, input);
  made.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, output).add();
}

void CudnnGraph::reduce(cudnnReduceTensorOp_t how, int input, int output) {
  auto made = settings(CUDNN_BACKEND_REDUCTION_DESCRIPTOR,
                       CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT,
                       CUDNN_ATTR_REDUCTION_OPERATOR,
                       CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, how);
  if (!made) {
    keep(std::move(made).error());
    return;
  }
  keep(made->finalize());
  operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR)
      .set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, *made)
      .set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, input)
      .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, output)
      .add();
}

void CudnnGraph::product(int a, int b, int output) {
  auto how = CudnnDescriptor::create(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  if (!how) {
    keep(std::move(how).error());
    return;
  }
  const cudnnDataType_t sums = CUDNN_DATA_FLOAT;
  keep(how->set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sums));
  keep(how->finalize());
  operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
      .set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a)
      .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b)
      .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, output)
      .set(CUDNN_ATTR_OPERATION_MATMUL_DESC, *how)
      .add();
}

void CudnnGraph::view(int input, int output) {
  operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR)
      .set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, input)
      .set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, output)
      .add();
}

}  // namespace plimsoll::cuda
