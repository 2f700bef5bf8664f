// While one stands, this thread takes numbers below the normal range as zero.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace plimsoll::ops {

// The moments of a weight whose gradient has become zero fade into the
// subnormal range and stay there, where arithmetic is tens of times slower.
class FlushTiny {
 public:
#if defined(__SSE2__)
  FlushTiny() : saved_(_mm_getcsr()) {
    constexpr unsigned kResults = 0x8000, kOperands = 0x0040;
    _mm_setcsr(saved_ | kResults | kOperands);
  }
  ~FlushTiny() { _mm_setcsr(saved_); }
#else
  FlushTiny() {}
  ~FlushTiny() {}
#endif
  FlushTiny(const FlushTiny&) = delete;
  FlushTiny& operator=(const FlushTiny&) = delete;

 private:
  [[maybe_unused]] unsigned saved_ = 0;
};

}  // namespace plimsoll::ops
