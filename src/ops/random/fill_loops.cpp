// Compiled once for each instruction-set level, see cmake/PlimsollIsa.cmake.
#include "ops/random/fill_loops.h"

#include "ops/normalization/stored_lanes.h"
#include "ops/random/random_lanes.h"
#include "ops/random/random_series.h"

namespace plimsoll::ops::PLIMSOLL_ISA {
namespace {

static_assert(kBlocks == kRowLanes);

typedef std::int32_t Whole32 __attribute__((vector_size(64)));
typedef std::int64_t Whole64 __attribute__((vector_size(128)));

template <class T>
constexpr int kUnitBits = sizeof(T) == 8 ? kBitsOfF64 : kBitsOfF32;
template <>
constexpr int kUnitBits<Bf16> = kBitsOfBf16;
template <>
constexpr int kUnitBits<F16> = kBitsOfF16;

template <class C>
constexpr int kWordBits = sizeof(C) == 8 ? 64 : 32;

// Words of sixteen elements; f64 has the lower ones below.
inline void load_words(const std::uint32_t* high, const std::uint32_t*,
                       LaneBits<float>& words) {
  __builtin_memcpy(&words, high, sizeof(words));
}
inline void load_words(const std::uint32_t* high, const std::uint32_t* low,
                       LaneBits<double>& words) {
  LaneBits<float> upper, lower;
  __builtin_memcpy(&upper, high, sizeof(upper));
  __builtin_memcpy(&lower, low, sizeof(lower));
  words = __builtin_convertvector(upper, LaneBits<double>) << 32 |
          __builtin_convertvector(lower, LaneBits<double>);
}

// Words as signed numbers, and numbers of those.
inline void to_lanes(const LaneBits<float>& words, Lanes<float>& lanes) {
  Whole32 whole;
  __builtin_memcpy(&whole, &words, sizeof(whole));
  lanes = __builtin_convertvector(whole, Lanes<float>);
}
inline void to_lanes(const LaneBits<double>& words, Lanes<double>& lanes) {
  Whole64 whole;
  __builtin_memcpy(&whole, &words, sizeof(whole));
  lanes = __builtin_convertvector(whole, Lanes<double>);
}

// 2^-bits, for bits up to 64
constexpr double part_of(int bits) {
  double part = 1;
  for (int i = 0; i < bits; ++i) part /= 2;
  return part;
}

template <class C>
inline void sum_series(const Series& series, const Lanes<C>& z, Lanes<C>& sum) {
  const int count = sizeof(C) == 8 ? series.f64_terms : series.f32_terms;
  const Lanes<C> none = {};
  sum = none + static_cast<C>(series.term[count - 1]);
  for (int i = count - 2; i >= 0; --i) {
    sum = sum * z + static_cast<C>(series.term[i]);
  }
}

// 1/sqrt(2) as bits, and the place of the exponent.
template <class C>
struct Format;
template <>
struct Format<float> {
  static constexpr std::uint32_t kRoot = 0x3f3504f3u;
  static constexpr std::uint32_t kDigits = 0x007fffffu;
  static constexpr int kExponent = 23;
  typedef Whole32 Whole;
};
template <>
struct Format<double> {
  static constexpr std::uint64_t kRoot = 0x3fe6a09e667f3bcdu;
  static constexpr std::uint64_t kDigits = 0x000fffffffffffffu;
  static constexpr int kExponent = 52;
  typedef Whole64 Whole;
};

// The logarithm of u in (0, 1].
template <class C>
inline void logarithm(const Lanes<C>& u, Lanes<C>& result) {
  using F = Format<C>;
  LaneBits<C> bits;
  __builtin_memcpy(&bits, &u, sizeof(bits));
  bits -= F::kRoot;
  typename F::Whole power;
  __builtin_memcpy(&power, &bits, sizeof(power));
  power >>= F::kExponent;
  const Lanes<C> twos = __builtin_convertvector(power, Lanes<C>);
  bits = (bits & F::kDigits) + F::kRoot;
  Lanes<C> m;
  __builtin_memcpy(&m, &bits, sizeof(m));
  const Lanes<C> s = (m - C(1)) / (m + C(1));
  Lanes<C> sum;
  sum_series<C>(kLogSeries, s * s, sum);
  result = twos * static_cast<C>(kLogOfTwo) + (s + s) * sum;
}

// Cosine and sine of `words` parts of a turn.
template <class C>
inline void on_circle(const LaneBits<C>& words, Lanes<C>& x, Lanes<C>& y) {
  constexpr int kQuarter = kWordBits<C> - 2;
  const LaneBits<C> none = {};
  const LaneBits<C> one = none + 1;
  // The nearest quarter, and what is left, up to an eighth each way.
  const LaneBits<C> quarter = (words + (one << (kQuarter - 1))) >> kQuarter;
  Lanes<C> angle;
  to_lanes(words - (quarter << kQuarter), angle);
  angle *= static_cast<C>(kWholeTurn * part_of(kWordBits<C>));
  Lanes<C> sine, cosine;
  sum_series<C>(kSineSeries, angle * angle, sine);
  sum_series<C>(kCosineSeries, angle * angle, cosine);
  sine *= angle;
  const auto odd = (quarter & 1) != none;
  x = odd ? sine : cosine;
  y = odd ? cosine : sine;
  x = ((quarter + 1) & 2) != none ? -x : x;
  y = (quarter & 2) != none ? -y : y;
}

// Box and Muller: two words make two numbers.
template <class C>
inline void normal_pair(const LaneBits<C>& first, const LaneBits<C>& second,
                        Lanes<C>& x, Lanes<C>& y) {
  constexpr int kBits = kUnitBits<C>;
  Lanes<C> u;
  to_lanes((first >> (kWordBits<C> - kBits)) + 1, u);
  u *= static_cast<C>(part_of(kBits));
  Lanes<C> radius;
  logarithm<C>(u, radius);
  radius *= C(-2);
  C roots[kRowLanes];
  __builtin_memcpy(roots, &radius, sizeof(radius));
  for (C& root : roots) {
    root = sizeof(C) == 8 ? static_cast<C>(__builtin_sqrt(double(root)))
                          : static_cast<C>(__builtin_sqrtf(float(root)));
  }
  __builtin_memcpy(&radius, roots, sizeof(radius));
  on_circle<C>(second, x, y);
  x *= radius;
  y *= radius;
}

// The words of 64 elements, in four parts of sixteen.
template <class T>
struct GroupWords {
  std::uint32_t high[kGroup];
  std::uint32_t low[kGroup];

  void make(const RandomFill& fill, std::int64_t first) {
    const auto block = static_cast<std::uint64_t>(first) / kGroup * kBlocks;
    make_words(fill.key, fill.step, block, high);
    if (sizeof(T) == 8) make_words(fill.lower_key, fill.step, block, low);
  }
  void load(int part, LaneBits<Computed<T>>& lanes) const {
    load_words(high + part * kBlocks, low + part * kBlocks, lanes);
  }
};

template <class T>
inline void store_part(const Lanes<Computed<T>>& lanes, T* out, std::int64_t i,
                       std::int64_t n) {
  if (i < n) store_narrow(lanes, out, i, n);
}

template <class T>
void uniform(const RandomFill& fill, std::int64_t first, std::int64_t n,
             T* out) {
  using C = Computed<T>;
  constexpr int kBits = kUnitBits<T>;
  const Lanes<C> none = {};
  const Lanes<C> low = none + static_cast<C>(fill.low);
  const C span = static_cast<C>(fill.span);
  const C high = static_cast<C>(fill.high);
  for (std::int64_t i = 0; i < n; i += kGroup) {
    GroupWords<T> words;
    words.make(fill, first + i);
    for (int part = 0; part < kGroup / kBlocks; ++part) {
      LaneBits<C> bits;
      words.load(part, bits);
      Lanes<C> u;
      to_lanes(bits >> (kWordBits<C> - kBits), u);
      u *= static_cast<C>(part_of(kBits));
      u = low + u * span;
      // Rounding must not bring the end in.
      u = u < high ? u : low;
      store_part(u, out, i + part * kBlocks, n);
    }
  }
}

template <class T>
void normal(const RandomFill& fill, std::int64_t first, std::int64_t n,
            T* out) {
  using C = Computed<T>;
  const C mean = static_cast<C>(fill.low);
  const C deviation = static_cast<C>(fill.span);
  for (std::int64_t i = 0; i < n; i += kGroup) {
    GroupWords<T> words;
    words.make(fill, first + i);
    for (int part = 0; part < kGroup / kBlocks; part += 2) {
      LaneBits<C> a, b;
      words.load(part, a);
      words.load(part + 1, b);
      Lanes<C> x, y;
      normal_pair<C>(a, b, x, y);
      x = x * deviation + mean;
      y = y * deviation + mean;
      store_part(x, out, i + part * kBlocks, n);
      store_part(y, out, i + (part + 1) * kBlocks, n);
    }
  }
}

template <class T>
FillLoops<T> loops() {
  return {uniform<T>, normal<T>};
}

}  // namespace

FillTables fill_tables() {
  return {loops<float>(), loops<double>(), loops<Bf16>(), loops<F16>()};
}

}  // namespace plimsoll::ops::PLIMSOLL_ISA
