// Copies past the caches, for results too large to be found there again: the
// old lines need not be read before they are overwritten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace plimsoll::ops {

// Whether it pays for so many bytes in runs of so many.
inline bool streams(std::int64_t bytes, std::int64_t run) {
  return bytes >= std::int64_t{16} << 20 && run >= 256;
}

#if defined(__x86_64__)
inline void stream_copy(char* to, const char* from, std::int64_t bytes) {
  constexpr std::int64_t kLine = 64;
  const auto past = reinterpret_cast<std::uintptr_t>(to) % kLine;
  if (past != 0 && bytes >= kLine) {
    const auto head = static_cast<std::int64_t>(kLine - past);
    std::memcpy(to, from, static_cast<std::size_t>(head));
    to += head;
    from += head;
    bytes -= head;
  }
  for (; bytes >= kLine; bytes -= kLine, to += kLine, from += kLine) {
    const auto* in = reinterpret_cast<const __m128i*>(from);
    auto* out = reinterpret_cast<__m128i*>(to);
    const __m128i a = _mm_loadu_si128(in);
    const __m128i b = _mm_loadu_si128(in + 1);
    const __m128i c = _mm_loadu_si128(in + 2);
    const __m128i d = _mm_loadu_si128(in + 3);
    _mm_stream_si128(out, a);
    _mm_stream_si128(out + 1, b);
    _mm_stream_si128(out + 2, c);
    _mm_stream_si128(out + 3, d);
  }
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}
// Before others read what was copied.
inline void finish_streams() { _mm_sfence(); }
#else
inline void stream_copy(char* to, const char* from, std::int64_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}
inline void finish_streams() {}
#endif

}  // namespace plimsoll::ops
