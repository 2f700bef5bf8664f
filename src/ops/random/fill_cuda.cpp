// random_uniform and random_normal: the numbers of fill_loops.cpp, by the same
// sums and products in the same order.
#include <fmt/core.h>

#include "ops/cuda_text.h"
#include "ops/random/random_cuda.h"
#include "ops/random/random_form.h"
#include "ops/random/random_series.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

// A thread makes one Philox block, whose words belong to elements 16 apart.
constexpr std::string_view kFill = R"(  typedef $T T;
  typedef $C C;
  typedef $I I;
  typedef $W W;
  const u64 step = (u64)in0[0];
  for (I i = (I)block * 512 + threadIdx.x; i < $blocks; i += (I)blocks * 512) {
    W word[4];
    {
      const PhiloxBlock words = philox($key, step, i);
      word[0] = words.x0;
      word[1] = words.x1;
      word[2] = words.x2;
      word[3] = words.x3;
    }
$lower    C made[4];
$make    const I first = i / 16 * 64 + i % 16;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      if (first + w * 16 < $N) out0[first + w * 16] = store<T>(made[w]);
    }
  }
)";

constexpr std::string_view kLower = R"(    {
      const PhiloxBlock words = philox($lower_key, step, i);
      word[0] = word[0] << 32 | words.x0;
      word[1] = word[1] << 32 | words.x1;
      word[2] = word[2] << 32 | words.x2;
      word[3] = word[3] << 32 | words.x3;
    }
)";

// Rounding must not bring the end in.
constexpr std::string_view kUniform = R"(#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const C u = mul((C)(word[w] >> ($word_bits - $bits)), $part);
      const C x = add($low, mul(u, $span));
      made[w] = x < $high ? x : $low;
    }
)";

constexpr std::string_view kNormal = R"(#pragma unroll
    for (int w = 0; w < 4; w += 2) {
      C radius;
      {
        const C u = mul((C)((word[w] >> ($word_bits - $bits)) + 1), $part);
        const W bits = $bits_of(u) - $root;
        const C twos = (C)(($S)bits >> $exponent);
        const C m = $of_bits((bits & $digits) + $root);
        const C s = div(sub(m, (C)1), add(m, (C)1));
        const C z = mul(s, s);
        C sum;
$log        const C log = add(mul(twos, $log_of_two), mul(add(s, s), sum));
        radius = root(mul(log, (C)-2));
      }
      const W turn = word[w + 1];
      const W quarter = (turn + ((W)1 << ($word_bits - 3))) >>
                        ($word_bits - 2);
      const C angle =
          mul((C)($S)(turn - (quarter << ($word_bits - 2))), $turn_part);
      const C z = mul(angle, angle);
      C sum;
$sine      const C sine = mul(sum, angle);
$cosine      const C cosine = sum;
      C x = (quarter & 1) != 0 ? sine : cosine;
      C y = (quarter & 1) != 0 ? cosine : sine;
      x = ((quarter + 1) & 2) != 0 ? -x : x;
      y = (quarter & 2) != 0 ? -y : y;
      made[w] = add(mul(mul(x, radius), $span), $low);
      made[w + 1] = add(mul(mul(y, radius), $span), $low);
    }
)";

// Sets `sum` to the series at z.
std::string sum_text(const Series& series, DType compute) {
  const int terms = compute == DType::f64 ? series.f64_terms : series.f32_terms;
  std::string text = fmt::format("      sum = {};\n",
                                 cuda_number(compute, series.term[terms - 1]));
  for (int i = terms - 2; i >= 0; --i) {
    text += fmt::format("      sum = add(mul(sum, z), {});\n",
                        cuda_number(compute, series.term[i]));
  }
  return text;
}

double part_of(int bits) {
  return 1.0 / static_cast<double>(std::uint64_t{1} << bits);
}

int bits_of(DType dtype) {
  return dtype == DType::f64    ? kBitsOfF64
         : dtype == DType::bf16 ? kBitsOfBf16
         : dtype == DType::f16  ? kBitsOfF16
                                : kBitsOfF32;
}

std::string make_text(const RandomForm& form, DType dtype, bool normal) {
  const DType compute = wide_dtype(dtype);
  const bool wide = compute == DType::f64;
  const int bits = bits_of(normal ? compute : dtype);
  // 2^-64 is not 1 over a word.
  const double turn =
      kWholeTurn * (wide ? part_of(32) * part_of(32) : part_of(32));
  return cuda_text(
      normal ? kNormal : kUniform,
      {{"bits", bits},
       {"word_bits", wide ? 64 : 32},
       {"part", cuda_number(compute, part_of(bits))},
       {"low", cuda_number(compute, form.low)},
       {"span", cuda_number(compute, form.span)},
       {"high", cuda_number(compute, form.high)},
       {"S", wide ? "i64" : "i32"},
       {"bits_of", wide ? "(W)__double_as_longlong" : "__float_as_uint"},
       {"of_bits", wide ? "__longlong_as_double" : "__uint_as_float"},
       {"root", wide ? "0x3fe6a09e667f3bcdull" : "0x3f3504f3u"},
       {"digits", wide ? "0x000fffffffffffffull" : "0x007fffffu"},
       {"exponent", wide ? 52 : 23},
       {"log_of_two", cuda_number(compute, kLogOfTwo)},
       {"turn_part", cuda_number(compute, turn)},
       {"log", sum_text(kLogSeries, compute)},
       {"sine", sum_text(kSineSeries, compute)},
       {"cosine", sum_text(kCosineSeries, compute)}});
}

Result<cuda::OpCode> fill(const KernelQuery& query,
                          const CudaSettings& settings, bool normal) {
  const graph::TensorType& out = query.outputs[0];
  const std::string name = fmt::format("{}:cuda:philox4x32", query.op->name);
  const std::int64_t elements = out.shape.elements();
  if (elements == 0) return cuda_op(query, name, "", 1);
  const RandomForm form = random_form(*query.attrs, normal);
  const bool wide = out.dtype == DType::f64;
  constexpr std::int64_t kGroup = kWordGroup;
  const std::int64_t blocks =
      (elements + kGroup - 1) / kGroup * std::int64_t{kWordBlocks};
  CudaNumbers numbers(settings);
  const std::string key = numbers.word(form.key);
  const std::string lower =
      wide ? cuda_text(kLower, {{"lower_key", numbers.word(form.lower_key)}})
           : "";
  return std::move(numbers).in(
      cuda_op(query, name,
              cuda_text(kFill, {{"T", cuda_type(out.dtype)},
                                {"C", cuda_type(wide_dtype(out.dtype))},
                                {"I", cuda_index(elements)},
                                {"W", wide ? "u64" : "u32"},
                                {"N", elements},
                                {"blocks", blocks},
                                {"key", key},
                                {"lower", lower},
                                {"make", make_text(form, out.dtype, normal)}}),
              cuda_blocks_of_threads(blocks)));
}

}  // namespace

Result<cuda::OpCode> random_uniform_cuda(const KernelQuery& query,
                                         const CudaSettings& settings) {
  return fill(query, settings, false);
}

Result<cuda::OpCode> random_normal_cuda(const KernelQuery& query,
                                        const CudaSettings& settings) {
  return fill(query, settings, true);
}

}  // namespace plimsoll::ops
