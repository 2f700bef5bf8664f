// In place of cudnn_convolution.cpp where cuDNN's headers were not there.
#include "device/cuda/cudnn_convolution.h"

namespace plimsoll::cuda {
namespace {

Error absent() {
  return {ErrorCode::unsupported,
          "this CUDA module was built without cuDNN, which convolutions of "
          "this size need: install its headers (cudnn.h) and build again"};
}

}  // namespace

Result<CudnnHandle> open_cudnn() { return absent(); }

void close_cudnn(CudnnHandle) {}

Result<std::unique_ptr<CudaWork>> make_cudnn_convolution(CudnnHandle,
                                                         const Convolution&) {
  return absent();
}

Result<std::string> cudnn_version() { return absent(); }

}  // namespace plimsoll::cuda
