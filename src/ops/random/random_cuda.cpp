#include "ops/random/random_cuda.h"

#include <fmt/core.h>

#include <array>

#include "ops/cuda_text.h"
#include "ops/random/dropout_mask.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

// The mask of dropout_mask.h: a thread makes one Philox block, whose words
// belong to elements 16 apart.
constexpr std::string_view kDropout = R"(  typedef $T T;
  typedef $I I;
  const u64 step = (u64)in1[0];
  for (I i = block * 512 + threadIdx.x; i < $blocks; i += (I)blocks * 512) {
    const PhiloxBlock words = philox($key, step, i);
    const I first = i / 16 * 64 + i % 16;
    const u32 word[4] = {words.x0, words.x1, words.x2, words.x3};
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const I at = first + w * 16;
      if (at < $N) {
        out0[at] = store<T>(word[w] >= $threshold ? mul(load(in0[at]), $scale)
                                                  : $zero);
      }
    }
  }
)";

Result<cuda::OpCode> dropout(const KernelQuery& query,
                             const CudaSettings& settings) {
  const DType dtype = query.inputs[0].dtype;
  if (!is_floating(dtype)) return cuda::OpCode();
  constexpr std::string_view kName = "dropout:cuda:philox4x32";
  const std::int64_t elements = query.inputs[0].shape.elements();
  if (elements == 0) return cuda_op(query, std::string(kName), "", 1);
  const double rate = query.attrs->get<double>("rate");
  const auto attr = [&](const char* name) {
    return static_cast<std::uint64_t>(query.attrs->get<std::int64_t>(name));
  };
  const DType compute = wide_dtype(dtype);
  constexpr std::int64_t kGroup = kWordGroup;
  const std::int64_t blocks =
      (elements + kGroup - 1) / kGroup * std::int64_t{kWordBlocks};
  CudaNumbers numbers(settings);
  const std::string key = numbers.word(random_key(attr("seed"), attr("op_id")));
  return std::move(numbers).in(cuda_op(
      query, std::string(kName),
      cuda_text(kDropout,
                {{"T", cuda_type(dtype)},
                 {"I", cuda_index(elements)},
                 {"N", elements},
                 {"blocks", blocks},
                 {"key", key},
                 {"threshold", fmt::format("{}u", dropout_threshold(rate))},
                 {"scale", cuda_number(compute, 1 / (1 - rate))},
                 {"zero", cuda_number(compute, 0)}}),
      cuda_blocks_of_threads(blocks)));
}

}  // namespace

std::span<const CudaKernels> random_cuda_kernels() {
  static constexpr std::array<CudaKernels, 3> kernels = {{
      {"dropout", dropout},
      {"random_uniform", random_uniform_cuda},
      {"random_normal", random_normal_cuda},
  }};
  return kernels;
}

}  // namespace plimsoll::ops
