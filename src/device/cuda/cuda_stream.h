// Streams and events of a CUDA device.
#pragma once

#include <cuda.h>

#include <memory>

#include "device/stream.h"

namespace plimsoll::cuda {

class CudaEvent final : public Event {
 public:
  static Result<std::unique_ptr<Event>> create();
  ~CudaEvent() override;

  bool done() const noexcept override;
  Status synchronize() override;
  CUevent handle() const { return handle_; }

 private:
  CUevent handle_ = nullptr;
};

class CudaStream final : public Stream {
 public:
  static Result<std::unique_ptr<Stream>> create();
  ~CudaStream() override;

  Status copy(void* to, const void* from, std::int64_t bytes,
              CopyDirection direction) override;
  Status clear(void* start, std::int64_t bytes) override;
  Status record(Event& event) override;
  Status wait(const Event& event) override;
  Status synchronize() override;
  CUstream handle() const { return handle_; }

 private:
  CUstream handle_ = nullptr;
};

// Streams that reach the module are its own.
inline CUstream handle_of(Stream& stream) {
  return static_cast<CudaStream&>(stream).handle();
}

}  // namespace plimsoll::cuda
