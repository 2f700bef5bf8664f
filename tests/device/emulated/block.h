// A block of a kernel on the CPU: its threads take turns, each until it waits
// for others. Order is fixed, so equal runs give equal bits; asked to go
// backwards, a kernel that lacks a barrier gives others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace plimsoll::emulated {

inline constexpr unsigned kThreads = 512;  // of each block
inline constexpr unsigned kLanes = 32;     // of each warp

// What kernels see of where they run: words.h has the same lines.
struct Here {
  struct Index {
    unsigned x;
  };
  Index thread;
  Index block;
  // Until all threads of the block wait.
  void (*wait)(Here*);
  // Until the lanes of `mask` are here, each with a place of its own; one of
  // them acts for all. A lane that is not in `mask` has no place.
  void (*meet)(Here*, unsigned mask, void* mine, void (*act)(void* const* all));
};

class Block {
 public:
  Block();
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  Here* here();
  // Empty, or what kept the threads from coming to the end. After that the
  // block is of no more use.
  std::string run(void (*kernel)(void* const*), void* const* pointers,
                  unsigned number, bool backwards);

 private:
  class Threads;
  std::unique_ptr<Threads> threads_;
};

}  // namespace plimsoll::emulated
