#include "ops/matmul/skinny_cuda.h"

#include <fmt/core.h>

#include <algorithm>

#include "ops/cuda_text.h"

namespace plimsoll::ops {
namespace {

constexpr std::int64_t kTile = 8;
// Few results: two rounds of a large device.
constexpr std::int64_t kLeastInner = 256;
constexpr std::int64_t kMostTiles = 264;
constexpr double kMostProducts = 1 << 25;
// So few of the library's tiles that most of the device is idle: it does not
// split the inner dimension then (635 us for 1000 x 128 of 4096, seen).
constexpr std::int64_t kLibraryTile = 128;
constexpr std::int64_t kMostLibraryTiles = 16;
constexpr std::int64_t kLongInner = 1024;
constexpr double kMostLongProducts = std::int64_t{1} << 31;
// In 16 bits it splits, but not where the inner dimension is so long and the
// result narrow: 153 us for 2048 x 10 of 8192, 1,140 for 256 x 10 of 65,536.
constexpr std::int64_t kVeryLongInner = 8192;
constexpr std::int64_t kNarrow = 16;

std::int64_t tiles(std::int64_t extent) { return (extent + kTile - 1) / kTile; }

// A warp's 64 sums of each thread become 2 of each: a thread keeps the half
// that its number says, and gives the other.
constexpr std::string_view kBody = R"(  const u32 lane = threadIdx.x % 32;
  f32* parts = shared_tile<f32>();
  for (I tile = block; tile < $tiles; tile += blocks) {
    const I row = tile / $tiles_n * 8;
    const I column = tile % $tiles_n * 8;
    f32 sums[64];
#pragma unroll
    for (int v = 0; v < 64; ++v) sums[v] = 0;
#pragma unroll 2
    for (I p = threadIdx.x; p < $k; p += 512) {
      f32 a[8];
      f32 b[8];
$load_a$load_b#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          sums[i * 8 + j] = mul_add(a[i], b[j], sums[i * 8 + j]);
        }
      }
    }
$joins    parts[threadIdx.x * 2] = sums[0];
    parts[threadIdx.x * 2 + 1] = sums[1];
    __syncthreads();
    if (threadIdx.x < 64) {
      f32 sum = parts[threadIdx.x];
#pragma unroll
      for (int w = 1; w < 16; ++w) sum = add(sum, parts[w * 64 + threadIdx.x]);
      const I i = row + threadIdx.x / 8;
      const I j = column + threadIdx.x % 8;
      if (i < $m && j < $n) {
        const I o = i * $n + j;
        $finish
      }
    }
    __syncthreads();
  }
)";

// Written out, so that every sum is a register.
std::string joins_text() {
  std::string text;
  for (std::int64_t step = 16; step > 0; step /= 2) {
    text += cuda_text(
        "    {\n"
        "      const bool upper = lane & $step;\n"
        "#pragma unroll\n"
        "      for (int v = 0; v < $half; ++v) {\n"
        "        const f32 kept = upper ? sums[v + $half] : sums[v];\n"
        "        const f32 given = upper ? sums[v] : sums[v + $half];\n"
        "        sums[v] = add(kept, __shfl_xor_sync(0xffffffffu, given, "
        "$step));\n"
        "      }\n"
        "    }\n",
        {{"step", step}, {"half", 2 * step}});
  }
  return text;
}

// Eight values of an operand for one p: side by side, or a stride apart.
// Those behind the end are made from the last ones and not written.
std::string load_text(std::string_view name, std::string_view input,
                      std::string_view first, std::int64_t extent,
                      std::int64_t stride, std::int64_t inner_stride) {
  if (stride == 1 && extent % kTile == 0) {
    return cuda_text(
        "      {\n"
        "        const Vec<f32, 8> some =\n"
        "            read_as<8, f32>($input + p * $inner + $first);\n"
        "#pragma unroll\n"
        "        for (int i = 0; i < 8; ++i) $name[i] = some.v[i];\n"
        "      }\n",
        {{"input", input},
         {"inner", inner_stride},
         {"first", first},
         {"name", name}});
  }
  return cuda_text(
      "#pragma unroll\n"
      "      for (int i = 0; i < 8; ++i) {\n"
      "        const I at = $first + i < $extent ? $first + i : $extent - 1;\n"
      "        $name[i] = load($input[at * $stride + p * $inner]);\n"
      "      }\n",
      {{"input", input},
       {"inner", inner_stride},
       {"first", first},
       {"extent", extent},
       {"stride", stride},
       {"name", name}});
}

}  // namespace

bool suits_skinny(const ProductShape& shape, DType operands) {
  if (operands == DType::f64 || shape.batch != 1) return false;
  const double products = shape.flops() / 2;
  const auto wide = [](std::int64_t extent) {
    return (extent + kLibraryTile - 1) / kLibraryTile;
  };
  const bool few_library_tiles =
      products <= kMostLongProducts &&
      wide(shape.m) * wide(shape.n) <= kMostLibraryTiles;
  if (size_of(operands) == 2) {
    const std::int64_t narrow = std::min(shape.m, shape.n);
    return few_library_tiles && shape.k >= kVeryLongInner && narrow > 1 &&
           narrow <= kNarrow;
  }
  return (shape.k >= kLeastInner && products <= kMostProducts &&
          tiles(shape.m) * tiles(shape.n) <= kMostTiles) ||
         (shape.k >= kLongInner && few_library_tiles);
}

cuda::OpCode skinny_product(const graph::KernelQuery& query,
                            const ProductShape& shape,
                            const std::string& finish) {
  const std::int64_t count = tiles(shape.m) * tiles(shape.n);
  const std::string types = "  typedef f32 C;\n  typedef int I;\n";
  const std::string body =
      types +
      cuda_text(kBody, {{"tiles_n", tiles(shape.n)},
                        {"tiles", count},
                        {"k", shape.k},
                        {"load_a", load_text("a", "in0", "row", shape.m,
                                             shape.a_row, shape.a_col)},
                        {"load_b", load_text("b", "in1", "column", shape.n,
                                             shape.b_col, shape.b_row)},
                        {"joins", joins_text()},
                        {"m", shape.m},
                        {"n", shape.n},
                        {"finish", finish}});
  cuda::OpCode code = cuda_op(query, "matmul:cuda:skinny", body, count);
  // Of a block alone: reads of each round, then joining.
  const double rounds = static_cast<double>((shape.k + 511) / 512);
  std::get<cuda::Function>(code.stages[0]).one_block_seconds =
      static_cast<double>(count) * (0.8e-6 + 0.4e-6 * rounds);
  return code;
}

}  // namespace plimsoll::ops
