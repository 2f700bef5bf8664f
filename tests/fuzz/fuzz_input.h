// What every fuzzer needs: its input as a file, and promises that stop it.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

namespace plimsoll::fuzz {

// A broken promise is a crash: libFuzzer keeps the input.
inline void require(bool promise, const char* what) {
  if (promise) return;
  std::fprintf(stderr, "broken: %s\n", what);
  __builtin_trap();
}

// Whether `inner` lies in `outer`; an empty one may lie anywhere.
inline bool is_inside(std::span<const std::byte> inner,
                      std::span<const std::byte> outer) {
  return inner.empty() ||
         (inner.data() >= outer.data() &&
          inner.data() + inner.size() <= outer.data() + outer.size());
}

// A file in memory that holds `bytes`: one for the whole program, since making
// one takes longer than reading it.
inline const std::string& file_of(std::span<const std::byte> bytes) {
  static const int descriptor = ::memfd_create("fuzz", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  require(::ftruncate(descriptor, 0) == 0 &&
              ::pwrite(descriptor, bytes.data(), bytes.size(), 0) ==
                  static_cast<ssize_t>(bytes.size()),
          "the input can be written");
  return path;
}

// The first byte of an input chooses settings, the rest is the file.
struct Input {
  unsigned settings = 0;
  std::span<const std::byte> bytes;

  Input(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return;
    settings = data[0];
    bytes = std::as_bytes(std::span(data + 1, size - 1));
  }
};

}  // namespace plimsoll::fuzz
