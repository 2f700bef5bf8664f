// cuDNN's graph interface, opened by name: its engines cost memory that only
// jobs with its layers pay for.
#pragma once

#include <cudnn_graph.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace plimsoll::cuda {

#define PLIMSOLL_CUDNN_CALLS(X)    \
  X(cudnnGetVersion)               \
  X(cudnnGetErrorString)           \
  X(cudnnGetLastErrorString)       \
  X(cudnnCreate)                   \
  X(cudnnDestroy)                  \
  X(cudnnSetStream)                \
  X(cudnnBackendCreateDescriptor)  \
  X(cudnnBackendDestroyDescriptor) \
  X(cudnnBackendSetAttribute)      \
  X(cudnnBackendGetAttribute)      \
  X(cudnnBackendFinalize)          \
  X(cudnnBackendExecute)

struct CudnnCalls {
#define PLIMSOLL_MEMBER(name) decltype(&::name) p_##name = nullptr;
  PLIMSOLL_CUDNN_CALLS(PLIMSOLL_MEMBER)
#undef PLIMSOLL_MEMBER
};

// Opens the library; the same for all callers.
Result<const CudnnCalls*> load_cudnn();
// load_cudnn() must have succeeded.
const CudnnCalls& cudnn();

// "9.19.0"
std::string version_text();

Status check(const char* call, cudnnStatus_t status);

// A part of a graph that goes with its owner.
class CudnnDescriptor {
 public:
  static Result<CudnnDescriptor> create(cudnnBackendDescriptorType_t type);
  CudnnDescriptor() = default;
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept;
  ~CudnnDescriptor();

  Status set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
             std::int64_t count, const void* values);
  Status set(cudnnBackendAttributeName_t name, const CudnnDescriptor& part);
  Status set(cudnnBackendAttributeName_t name,
             const std::vector<std::int64_t>& values);
  // How many there are; as many as fit are written.
  Result<std::int64_t> get(cudnnBackendAttributeName_t name,
                           cudnnBackendAttributeType_t type, std::int64_t most,
                           void* values) const;
  Status finalize();

  cudnnBackendDescriptor_t raw() const { return raw_; }

 private:
  cudnnBackendDescriptor_t raw_ = nullptr;
};

}  // namespace plimsoll::cuda
