// The compute half of the thread budget: a fixed oneTBB arena in which kernels
// are made and run, isolated from the input pipeline's threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace plimsoll {

class ComputeThreads {
 public:
  // Caps the whole process at `threads`, plus what a pipeline arena beside
  // this one asks for.
  explicit ComputeThreads(int threads, int pipeline_threads = 0);
  ~ComputeThreads();
  ComputeThreads(const ComputeThreads&) = delete;
  ComputeThreads& operator=(const ComputeThreads&) = delete;

  int size() const;

  // Runs `work` on the calling thread as a member of the arena. Everything
  // that makes or launches kernels happens inside; nested calls are cheap.
  void enter(const std::function<void()>& work);

  // Calls body(context, i) for i in [0, chunks), each i exactly once, spread
  // over the threads; one chunk runs inline. Which indices exist is the
  // caller's fixed split, so results do not depend on who runs them. Must be
  // called inside enter(); never allocates in our code.
  using Body = void (*)(void* context, std::int64_t chunk);
  void for_chunks(std::int64_t chunks, void* context, Body body) noexcept;

  template <class F>
  void for_each_chunk(std::int64_t chunks, F& body) noexcept {
    for_chunks(chunks, &body, [](void* context, std::int64_t chunk) {
      (*static_cast<F*>(context))(chunk);
    });
  }

  // Runs an empty task on every thread, so that stacks and library state exist
  // before memory is measured.
  void warm_up();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll
