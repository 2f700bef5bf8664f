#include "io/convert.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/half.h"
#include "io/narrow.h"

namespace plimsoll::io {
namespace {

// How an element lies in memory, and the plain number it stands for.
template <class T>
struct Plain {
  using Stored = T;
  static T load(Stored stored) { return stored; }
};
struct Bf16 {
  using Stored = std::uint16_t;
  static float load(Stored stored) { return bf16_to_float(stored); }
};
struct F16 {
  using Stored = std::uint16_t;
  static float load(Stored stored) { return f16_to_float(stored); }
};
struct Boolean {
  using Stored = std::uint8_t;
  static std::uint8_t load(Stored stored) { return stored != 0 ? 1 : 0; }
};

template <class To, class From>
To saturate(From value) {
  if constexpr (std::is_floating_point_v<From>) {
    // 2^digits is exact in any floating type; To's maximum may not be.
    constexpr auto kLimits = std::numeric_limits<To>();
    const From above = std::ldexp(From{1}, kLimits.digits);
    const From below = std::is_signed_v<To> ? -above : From{0};
    if (!(value >= below)) return value < below ? kLimits.min() : To{0};
    if (value >= above) return kLimits.max();
    return static_cast<To>(value);
  } else {
    if (std::cmp_less(value, std::numeric_limits<To>::min())) {
      return std::numeric_limits<To>::min();
    }
    if (std::cmp_greater(value, std::numeric_limits<To>::max())) {
      return std::numeric_limits<To>::max();
    }
    return static_cast<To>(value);
  }
}

template <class To, class Value>
typename To::Stored store(Value value) {
  using Stored = typename To::Stored;
  if constexpr (std::is_same_v<To, Bf16>) {
    return float_to_bf16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, F16>) {
    return float_to_f16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, Boolean>) {
    return value != Value{0} ? 1 : 0;
  } else if constexpr (std::is_floating_point_v<Stored>) {
    return static_cast<Stored>(value);
  } else {
    return saturate<Stored>(value);
  }
}

template <class From, class To>
void convert_all(const void* source, void* target, std::int64_t count) {
  using Read = typename From::Stored;
  using Written = typename To::Stored;
  const auto* in = static_cast<const std::byte*>(source);
  auto* out = static_cast<std::byte*>(target);
  // Copying through memcpy: files and users do not promise alignment.
  for (std::int64_t i = 0; i < count; ++i) {
    Read read;
    std::memcpy(&read, in + i * static_cast<std::int64_t>(sizeof(Read)),
                sizeof(Read));
    const Written written = store<To>(From::load(read));
    std::memcpy(out + i * static_cast<std::int64_t>(sizeof(Written)), &written,
                sizeof(Written));
  }
}

template <class T>
bool is_aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % alignof(T) == 0;
}

template <class F>
void with_type(DType dtype, F&& body) {
  switch (dtype) {
    case DType::f32:
      return body(Plain<float>());
    case DType::f64:
      return body(Plain<double>());
    case DType::bf16:
      return body(Bf16());
    case DType::f16:
      return body(F16());
    case DType::i8:
      return body(Plain<std::int8_t>());
    case DType::i16:
      return body(Plain<std::int16_t>());
    case DType::i32:
      return body(Plain<std::int32_t>());
    case DType::i64:
      return body(Plain<std::int64_t>());
    case DType::u8:
      return body(Plain<std::uint8_t>());
    case DType::u16:
      return body(Plain<std::uint16_t>());
    case DType::u32:
      return body(Plain<std::uint32_t>());
    case DType::u64:
      return body(Plain<std::uint64_t>());
    case DType::boolean:
      return body(Boolean());
  }
}

}  // namespace

void convert(DType from, const void* source, DType to, void* target,
             std::int64_t count) noexcept {
  if (from == to) {
    std::memcpy(target, source, static_cast<std::size_t>(count * size_of(to)));
    return;
  }
  if (from == DType::f32 && (to == DType::bf16 || to == DType::f16) &&
      is_aligned<float>(source) && is_aligned<std::uint16_t>(target)) {
    static const NarrowLoops loops = narrow_loops(best_isa());
    const NarrowLoop narrow = to == DType::bf16 ? loops.to_bf16 : loops.to_f16;
    return narrow(static_cast<const float*>(source),
                  static_cast<std::uint16_t*>(target), count);
  }
  with_type(from, [&](auto read) {
    with_type(to, [&](auto written) {
      convert_all<decltype(read), decltype(written)>(source, target, count);
    });
  });
}

}  // namespace plimsoll::io
