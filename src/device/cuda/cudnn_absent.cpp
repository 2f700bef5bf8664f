// In place of cudnn_work.cpp where cuDNN's headers were not there.
#include "device/cuda/cudnn_work.h"

namespace plimsoll::cuda {
namespace {

Error absent() {
  return {ErrorCode::unsupported,
          "this CUDA module was built without cuDNN, which convolutions, "
          "attention, normalization and pooling of this size need: install "
          "its headers (cudnn.h) and build again"};
}

}  // namespace

Result<std::unique_ptr<CudnnWork>> CudnnWork::open() { return absent(); }

Result<std::string> cudnn_version() { return absent(); }

}  // namespace plimsoll::cuda
