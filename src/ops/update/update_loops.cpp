// Compiled once for each instruction-set level, see cmake/PlimsollIsa.cmake.
#include "ops/update/update_loops.h"

#include "ops/simd/simd.h"

namespace plimsoll::ops::PLIMSOLL_ISA {
namespace {

// Calls body(load, store, offset) for whole vectors and once for the rest.
template <class T, class Body>
void each_vector(std::int64_t begin, std::int64_t end, const Body& body) {
  using S = Simd<T>;
  std::int64_t i = begin;
  for (; i + S::kLanes <= end; i += S::kLanes) {
    body([i](const T* from) { return S::load(from + i); },
         [i](T* to, typename S::Reg value) { S::store(to + i, value); });
  }
  if (i < end) {
    const auto mask = S::mask(end - i);
    body([i, mask](const T* from) { return S::load(from + i, mask); },
         [i, mask](T* to, typename S::Reg value) {
           S::store(to + i, value, mask);
         });
  }
}

template <class T>
void sgd(const UpdateArgs<T>& args, std::int64_t begin, std::int64_t end) {
  using S = Simd<T>;
  const auto rate = S::set(args.rate);
  const auto gain = S::set(args.gain);
  each_vector<T>(begin, end, [&](const auto& load, const auto& store) {
    store(args.new_parameter, S::fnma(rate, S::mul(gain, load(args.gradient)),
                                      load(args.parameter)));
  });
}

template <class T>
void sgd_momentum(const UpdateArgs<T>& args, std::int64_t begin,
                  std::int64_t end) {
  using S = Simd<T>;
  const auto rate = S::set(args.rate);
  const auto gain = S::set(args.gain);
  const auto momentum = S::set(args.momentum);
  each_vector<T>(begin, end, [&](const auto& load, const auto& store) {
    const auto velocity = S::fnma(rate, S::mul(gain, load(args.gradient)),
                                  S::mul(momentum, load(args.states[0])));
    const auto parameter = S::add(load(args.parameter), velocity);
    store(args.new_states[0], velocity);
    store(args.new_parameter, parameter);
  });
}

template <class T>
void sgd_nesterov(const UpdateArgs<T>& args, std::int64_t begin,
                  std::int64_t end) {
  using S = Simd<T>;
  const auto rate = S::set(args.rate);
  const auto gain = S::set(args.gain);
  const auto momentum = S::set(args.momentum);
  each_vector<T>(begin, end, [&](const auto& load, const auto& store) {
    const auto gradient = S::mul(gain, load(args.gradient));
    const auto velocity =
        S::fnma(rate, gradient, S::mul(momentum, load(args.states[0])));
    const auto stepped = S::fnma(rate, gradient, load(args.parameter));
    store(args.new_states[0], velocity);
    store(args.new_parameter, S::fma(momentum, velocity, stepped));
  });
}

// States: velocity, where `Momentum` a momentum, where `Centered` an average.
template <class T, bool Momentum, bool Centered>
void rmsprop(const UpdateArgs<T>& args, std::int64_t begin, std::int64_t end) {
  using S = Simd<T>;
  constexpr std::size_t kAverage = Momentum ? 2 : 1;
  const auto rate = S::set(args.rate);
  const auto gain = S::set(args.gain);
  const auto gain_2 = S::set(args.gain_2);
  const auto momentum = S::set(args.momentum);
  const auto epsilon = S::set(args.epsilon);
  each_vector<T>(begin, end, [&](const auto& load, const auto& store) {
    const auto gradient = S::mul(gain, load(args.gradient));
    const auto old = load(args.states[0]);
    const auto fall = S::fnma(gradient, gradient, old);
    const auto velocity = S::fnma(fall, gain_2, old);
    store(args.new_states[0], velocity);
    auto spread = velocity;
    if constexpr (Centered) {
      const auto before = load(args.states[kAverage]);
      const auto average = S::fma(S::sub(gradient, before), gain_2, before);
      store(args.new_states[kAverage], average);
      // Rounding may leave a little less than nothing.
      spread = S::max(S::fnma(average, average, velocity), S::zero());
    }
    auto change =
        S::div(S::mul(rate, gradient), S::sqrt(S::add(spread, epsilon)));
    if constexpr (Momentum) {
      change = S::fma(momentum, load(args.states[1]), change);
      store(args.new_states[1], change);
    }
    store(args.new_parameter, S::sub(load(args.parameter), change));
  });
}

template <class T>
void adagrad(const UpdateArgs<T>& args, std::int64_t begin, std::int64_t end) {
  using S = Simd<T>;
  const auto rate = S::set(args.rate);
  const auto gain = S::set(args.gain);
  const auto epsilon = S::set(args.epsilon);
  each_vector<T>(begin, end, [&](const auto& load, const auto& store) {
    const auto gradient = S::mul(gain, load(args.gradient));
    const auto sum = S::fma(gradient, gradient, load(args.states[0]));
    const auto change =
        S::div(S::mul(rate, gradient), S::sqrt(S::add(sum, epsilon)));
    store(args.new_states[0], sum);
    store(args.new_parameter, S::sub(load(args.parameter), change));
  });
}

template <class T>
struct Quotient {
  using S = Simd<T>;
  // a / (sqrt(v) + epsilon)
  static typename S::Reg of(typename S::Reg a, typename S::Reg v,
                            typename S::Reg epsilon) {
    return S::div(a, S::add(S::sqrt(v), epsilon));
  }
};

#if defined(__AVX512F__)
// The divider's 22 cycles a vector would be the whole cost: estimates of 14
// bits and one Newton step each take half of that, and stay within 2 ulp.
template <>
struct Quotient<float> {
  using S = Simd<float>;
  static __m512 of(__m512 a, __m512 v, __m512 epsilon) {
    // Below this the estimate's square leaves the range; the root is then
    // far under any epsilon that matters.
    const __m512 safe = S::max(v, S::set(1e-36f));
    const __m512 guess = _mm512_rsqrt14_ps(safe);
    const __m512 root = S::mul(safe, guess);
    const __m512 error = S::fnma(root, guess, S::set(1.0f));
    const __m512 exact = S::fma(S::mul(root, S::set(0.5f)), error, root);
    const __m512 below = S::add(exact, epsilon);
    const __m512 inverse = _mm512_rcp14_ps(below);
    const __m512 quotient = S::mul(a, inverse);
    return S::fma(S::fnma(quotient, below, a), inverse, quotient);
  }
};
#endif

// Both moments, and the parameter that `changed` makes of the old one and the
// quotient of the two.
template <class T, class Changed>
void with_moments(const UpdateArgs<T>& args, std::int64_t begin,
                  std::int64_t end, const Changed& changed) {
  using S = Simd<T>;
  const auto gain = S::set(args.gain);
  const auto gain_1 = S::set(args.gain_1);
  const auto gain_2 = S::set(args.gain_2);
  const auto epsilon = S::set(args.epsilon);
  each_vector<T>(begin, end, [&](const auto& load, const auto& store) {
    const auto gradient = S::mul(gain, load(args.gradient));
    const auto old_first = load(args.states[0]);
    const auto old_second = load(args.states[1]);
    const auto first = S::fma(S::sub(gradient, old_first), gain_1, old_first);
    const auto fall = S::fnma(gradient, gradient, old_second);
    const auto second = S::fnma(fall, gain_2, old_second);
    const auto parameter = load(args.parameter);
    store(args.new_states[0], first);
    store(args.new_states[1], second);
    store(args.new_parameter,
          changed(parameter, Quotient<T>::of(first, second, epsilon)));
  });
}

template <class T, bool Decay>
void adam(const UpdateArgs<T>& args, std::int64_t begin, std::int64_t end) {
  using S = Simd<T>;
  const auto rate = S::set(args.rate);
  const auto keep = S::set(args.keep);
  with_moments(args, begin, end, [&](auto parameter, const auto& quotient) {
    if constexpr (Decay) parameter = S::mul(keep, parameter);
    return S::fnma(rate, quotient, parameter);
  });
}

template <class T>
void lamb(const UpdateArgs<T>& args, std::int64_t begin, std::int64_t end) {
  using S = Simd<T>;
  const auto rate = S::set(args.rate);
  const auto keep = S::set(args.keep);
  with_moments(args, begin, end,
               [&](const auto& parameter, const auto& quotient) {
                 return S::fma(rate, quotient, S::mul(keep, parameter));
               });
}

template <class Bits>
bool finite(const Bits* x, std::int64_t n, Bits exponent) {
  Bits found = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    found = static_cast<Bits>(found | ((x[i] & exponent) == exponent ? 1 : 0));
  }
  return found == 0;
}

template <class T>
constexpr UpdateTable<T> table_of() {
  return {sgd<T>,
          sgd_momentum<T>,
          sgd_nesterov<T>,
          adam<T, false>,
          adam<T, true>,
          rmsprop<T, false, false>,
          rmsprop<T, true, false>,
          rmsprop<T, false, true>,
          rmsprop<T, true, true>,
          adagrad<T>,
          lamb<T>};
}

}  // namespace

const UpdateTables& update_tables() {
  static constexpr UpdateTables kTables{
      table_of<float>(), table_of<double>(), finite<std::uint16_t>,
      finite<std::uint32_t>, finite<std::uint64_t>};
  return kTables;
}

}  // namespace plimsoll::ops::PLIMSOLL_ISA
