#include <array>
#include <limits>
#include <type_traits>

#include "base/half.h"
#include "ops/movement/chunked.h"
#include "ops/simd/half_loops.h"

namespace plimsoll::ops {
namespace {

// Storage formats as types of their own, so that conversions can be chosen by
// type.
struct Bf16 {
  std::uint16_t bits;
};
struct F16 {
  std::uint16_t bits;
};
struct Bool {
  std::uint8_t byte;
};

// In the order of DType.
template <class... T>
struct Types {};
using AllTypes = Types<float, double, Bf16, F16, std::int8_t, std::int16_t,
                       std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                       std::uint32_t, std::uint64_t, Bool>;

// What a stored element is worth: float, double or an integer.
template <class T>
auto load(T value) {
  if constexpr (std::is_same_v<T, Bf16>) {
    return bf16_to_float(value.bits);
  } else if constexpr (std::is_same_v<T, F16>) {
    return f16_to_float(value.bits);
  } else if constexpr (std::is_same_v<T, Bool>) {
    return static_cast<std::uint8_t>(value.byte != 0);
  } else {
    return value;
  }
}

// Towards zero, held to the type's ends; NaN is 0.
template <class To, class From>
To saturate(From value) {
  using Limits = std::numeric_limits<To>;
  // 2^digits is exact in From; the first value that no longer fits.
  constexpr From kEnd = static_cast<From>(Limits::max() / 2 + 1) * From{2};
  constexpr From kLow = static_cast<From>(Limits::min());
  if (value != value) return 0;
  if (value >= kEnd) return Limits::max();
  if (value <= kLow) return Limits::min();
  return static_cast<To>(value);
}

template <class To, class From>
To convert(From stored) {
  const auto value = load(stored);
  using Value = decltype(load(stored));
  if constexpr (std::is_same_v<To, Bf16>) {
    return Bf16{float_to_bf16(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<To, F16>) {
    return F16{float_to_f16(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<To, Bool>) {
    return Bool{static_cast<std::uint8_t>(value != Value{0})};
  } else if constexpr (std::is_floating_point_v<Value> &&
                       std::is_integral_v<To>) {
    return saturate<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

using CastLoop = void (*)(const void* in, void* out, std::int64_t begin,
                          std::int64_t end);

template <class From, class To>
void cast_loop(const void* in, void* out, std::int64_t begin,
               std::int64_t end) {
  const From* x = static_cast<const From*>(in);
  To* y = static_cast<To*>(out);
  for (std::int64_t i = begin; i < end; ++i) y[i] = convert<To>(x[i]);
}

constexpr std::size_t kTypes = static_cast<std::size_t>(DType::boolean) + 1;
using CastRow = std::array<CastLoop, kTypes>;

template <class From, class... To>
constexpr CastRow casts_from(Types<To...>) {
  return {cast_loop<From, To>...};
}

template <class... From>
constexpr std::array<CastRow, kTypes> all_casts(Types<From...>) {
  return {casts_from<From>(AllTypes())...};
}

template <WidenLoop HalfLoops::*kLoop>
void widen(const void* in, void* out, std::int64_t begin, std::int64_t end) {
  (pick_half_loops().*kLoop)(static_cast<const std::uint16_t*>(in) + begin,
                             static_cast<float*>(out) + begin, end - begin);
}
template <NarrowLoop HalfLoops::*kLoop>
void narrow(const void* in, void* out, std::int64_t begin, std::int64_t end) {
  (pick_half_loops().*kLoop)(static_cast<const float*>(in) + begin,
                             static_cast<std::uint16_t*>(out) + begin,
                             end - begin);
}

// Parameters are cast in every step of mixed precision: with the widest
// instructions, to the same bits.
CastLoop half_loop(DType from, DType to) {
  if (to == DType::f32 && from == DType::bf16) {
    return widen<&HalfLoops::widen_bf16>;
  }
  if (to == DType::f32 && from == DType::f16) {
    return widen<&HalfLoops::widen_f16>;
  }
  if (from == DType::f32 && to == DType::bf16) {
    return narrow<&HalfLoops::narrow_bf16>;
  }
  if (from == DType::f32 && to == DType::f16) {
    return narrow<&HalfLoops::narrow_f16>;
  }
  return nullptr;
}

class CastKernel final : public Kernel {
 public:
  CastKernel(const graph::KernelQuery& query, ComputeThreads& threads)
      : loop_(loop_for(query.inputs[0].dtype, query.outputs[0].dtype)),
        elements_(query.outputs[0].shape.elements()),
        chunks_(movement_chunks(bytes_moved(query), threads.size())),
        threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    for_ranges(threads_, chunks_, elements_,
               [&](std::int64_t begin, std::int64_t end) {
                 loop_(args.inputs[0], args.outputs[0], begin, end);
               });
    return LaunchStatus::ok;
  }

 private:
  static constexpr auto kCasts = all_casts(AllTypes());
  static CastLoop loop_for(DType from, DType to) {
    const CastLoop fast = half_loop(from, to);
    return fast != nullptr ? fast
                           : kCasts[static_cast<std::size_t>(from)]
                                   [static_cast<std::size_t>(to)];
  }

  const CastLoop loop_;
  const std::int64_t elements_;
  const std::int64_t chunks_;
  ComputeThreads& threads_;
};

}  // namespace

Result<std::vector<graph::KernelCandidate>> cast_candidates(
    const graph::KernelQuery& query, ComputeThreads& threads) {
  // Between f32, bf16 and f16 there are vector loops: memory is the limit.
  const auto vectors = [](DType dtype) {
    return is_floating(dtype) && dtype != DType::f64;
  };
  const bool fast =
      vectors(query.inputs[0].dtype) && vectors(query.outputs[0].dtype);
  return std::vector{
      movement_candidate("cast", query, fast ? 20e9 : 8e9, threads)};
}

Result<std::unique_ptr<Kernel>> create_cast(const graph::KernelQuery& query,
                                            const graph::KernelCandidate&,
                                            ComputeThreads& threads) {
  return std::unique_ptr<Kernel>(std::make_unique<CastKernel>(query, threads));
}

}  // namespace plimsoll::ops
