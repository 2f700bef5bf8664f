#include "device/cuda/cuda_recording.h"

#include "device/cuda/cuda_stream.h"
#include "device/cuda/driver.h"

namespace plimsoll::cuda {
namespace {

class Recording final : public CudaRecording {
 public:
  ~Recording() override {
    if (executable_ == nullptr) return;
    static_cast<void>(PLIMSOLL_CUDA(cuGraphExecDestroy, executable_));
  }

  Status make(CUgraph graph, CUstream stream) {
    PLIMSOLL_RETURN_IF_ERROR(
        PLIMSOLL_CUDA(cuGraphInstantiateWithFlags, &executable_, graph, 0));
    return PLIMSOLL_CUDA(cuGraphUpload, executable_, stream);
  }

  Status launch(Stream& stream) override {
    return PLIMSOLL_CUDA(cuGraphLaunch, executable_, handle_of(stream));
  }

 private:
  CUgraphExec executable_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<CudaRecording>> record_graph(
    Stream& stream, const std::function<Status()>& work) {
  const CUstream handle = handle_of(stream);
  PLIMSOLL_RETURN_IF_ERROR(PLIMSOLL_CUDA(cuStreamBeginCapture, handle,
                                         CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  const Status worked = work();
  CUgraph graph = nullptr;
  const Status ended = PLIMSOLL_CUDA(cuStreamEndCapture, handle, &graph);
  // What the work says comes first: a broken capture follows from it.
  auto recording = std::make_unique<Recording>();
  Status made = worked ? ended : worked;
  if (made) made = recording->make(graph, handle);
  if (graph != nullptr) static_cast<void>(PLIMSOLL_CUDA(cuGraphDestroy, graph));
  if (!made) return std::move(made).error();
  return std::unique_ptr<CudaRecording>(std::move(recording));
}

}  // namespace plimsoll::cuda
