#include "device/cuda/cuda_stream.h"

#include <memory>

#include "device/cuda/driver.h"

namespace plimsoll::cuda {

Result<std::unique_ptr<Event>> CudaEvent::create() {
  auto event = std::make_unique<CudaEvent>();
  PLIMSOLL_RETURN_IF_ERROR(
      PLIMSOLL_CUDA(cuEventCreate, &event->handle_, CU_EVENT_DISABLE_TIMING));
  return std::unique_ptr<Event>(std::move(event));
}

CudaEvent::~CudaEvent() {
  if (handle_ == nullptr) return;
  static_cast<void>(PLIMSOLL_CUDA(cuEventDestroy, handle_));
}

bool CudaEvent::done() const noexcept {
  enter_context();
  // An error counts as done: synchronize() tells which.
  return driver().calls.p_cuEventQuery(handle_) != CUDA_ERROR_NOT_READY;
}

Status CudaEvent::synchronize() {
  return PLIMSOLL_CUDA(cuEventSynchronize, handle_);
}

Result<std::unique_ptr<Stream>> CudaStream::create() {
  auto stream = std::make_unique<CudaStream>();
  PLIMSOLL_RETURN_IF_ERROR(PLIMSOLL_CUDA(
      cuStreamCreateWithPriority, &stream->handle_, CU_STREAM_NON_BLOCKING, 0));
  return std::unique_ptr<Stream>(std::move(stream));
}

CudaStream::~CudaStream() {
  if (handle_ == nullptr) return;
  static_cast<void>(PLIMSOLL_CUDA(cuStreamDestroy, handle_));
}

Status CudaStream::copy(void* to, const void* from, std::int64_t bytes,
                        CopyDirection) {
  // Addresses say which side is which: host and device share one space.
  return PLIMSOLL_CUDA(cuMemcpyAsync, reinterpret_cast<CUdeviceptr>(to),
                       reinterpret_cast<CUdeviceptr>(from),
                       static_cast<std::size_t>(bytes), handle_);
}

Status CudaStream::clear(void* start, std::int64_t bytes) {
  return PLIMSOLL_CUDA(cuMemsetD8Async, reinterpret_cast<CUdeviceptr>(start), 0,
                       static_cast<std::size_t>(bytes), handle_);
}

Status CudaStream::record(Event& event) {
  return PLIMSOLL_CUDA(cuEventRecord, static_cast<CudaEvent&>(event).handle(),
                       handle_);
}

Status CudaStream::wait(const Event& event) {
  return PLIMSOLL_CUDA(cuStreamWaitEvent, handle_,
                       static_cast<const CudaEvent&>(event).handle(), 0);
}

Status CudaStream::synchronize() {
  return PLIMSOLL_CUDA(cuStreamSynchronize, handle_);
}

}  // namespace plimsoll::cuda
