#include "ops/matmul/matmul_cuda.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "ops/cuda_text.h"
#include "ops/matmul/product_shape.h"
#include "ops/matmul/skinny_cuda.h"
#include "ops/matmul/vector_cuda.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

// Up to here a function that runs beside its neighbours beats the library's
// launch.
constexpr double kSmallProduct = 1 << 17;
constexpr std::int64_t kMostWorkspace = std::int64_t{16} << 20;
constexpr std::int64_t kWorkspaceCopies = 16;  // of the output, to split k
constexpr std::int64_t kPartOfK = 128;
constexpr std::int64_t kWorkspaceGrain = 256;
constexpr std::int64_t kMostBatches = std::numeric_limits<std::int32_t>::max();
// A warp makes so many results side by side: one would wait for its reads.
constexpr std::int64_t kSideBySide = 4;

// What splits of k may need: parts of the output, each of at least kPartOfK
// products. From shapes alone, so that plans know it without the library.
std::int64_t workspace_bytes(const ProductShape& shape, DType output) {
  const std::int64_t parts = std::min(kWorkspaceCopies, shape.k / kPartOfK);
  if (parts < 2) return 0;
  const double bytes =
      static_cast<double>(parts) *
      static_cast<double>(std::max<std::int64_t>(4, size_of(output))) *
      static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
      static_cast<double>(shape.n);
  if (bytes >= static_cast<double>(kMostWorkspace)) return kMostWorkspace;
  return (static_cast<std::int64_t>(bytes) + kWorkspaceGrain - 1) /
         kWorkspaceGrain * kWorkspaceGrain;
}

std::string finish_of(const ProductShape& shape, DType output) {
  std::string text;
  if (shape.bias) {
    text += fmt::format("sum = add(sum, (C)load(in2[o % {}]));\n    ", shape.n);
  }
  if (shape.relu) text += "sum = e_relu(sum);\n    ";
  return text + fmt::format("out0[o] = store<{}>(sum);", cuda_type(output));
}

// Bias and relu on a result that lies there already.
cuda::Function epilogue(const KernelQuery& query, const ProductShape& shape) {
  const std::int64_t elements = query.outputs[0].shape.elements();
  const std::string text = cuda_text(
      R"(  typedef $C C;
  typedef $I I;
  for (I o = block * 512 + threadIdx.x; o < $N; o += (I)blocks * 512) {
    C sum = load(out0[o]);
    $finish
  }
)",
      {{"C", cuda_type(wide_dtype(query.outputs[0].dtype))},
       {"I", cuda_index(elements)},
       {"N", elements},
       {"finish", finish_of(shape, query.outputs[0].dtype)}});
  const auto bytes = static_cast<double>(query.outputs[0].bytes());
  return cuda_function(query, text, cuda_blocks_of_threads(elements),
                       {static_cast<double>(elements), 2 * bytes});
}

cuda::OpCode library_product(const KernelQuery& query,
                             const ProductShape& shape,
                             const CudaSettings& settings) {
  cuda::Product product;
  product.operands = query.inputs[0].dtype;
  product.output = query.outputs[0].dtype;
  product.tf32 = settings.tf32 && product.operands == DType::f32;
  product.batch = shape.batch;
  product.m = shape.m;
  product.n = shape.n;
  product.k = shape.k;
  product.transpose_a = query.attrs->get<bool>("transpose_a");
  product.transpose_b = query.attrs->get<bool>("transpose_b");
  product.a_batch = shape.a_batch;
  product.b_batch = shape.b_batch;
  // Not every version of the library has epilogues of f64 products.
  const bool apart =
      product.operands == DType::f64 && (shape.bias || shape.relu);
  product.bias = shape.bias && !apart;
  product.relu = shape.relu && !apart;
  product.workspace_bytes = workspace_bytes(shape, product.output);
  cuda::OpCode code;
  code.name = fmt::format("{}{}", kLibraryProduct, product.tf32 ? ":tf32" : "");
  code.scratch_bytes = product.workspace_bytes;
  code.stages.emplace_back(product);
  if (apart) code.stages.emplace_back(epilogue(query, shape));
  return code;
}

// One thread a result.
constexpr std::string_view kThreads =
    R"(  for (I o = block * 512 + threadIdx.x; o < $N; o += (I)blocks * 512) {
    const A* a = $from_a;
    const A* b = $from_b;
    C sum = 0;
#pragma unroll 8
    for (I p = 0; p < $k; ++p) {
      sum = mul_add((C)load(a[p * $a_col]), (C)load(b[p * $b_row]), sum);
    }
    $finish
  }
)";

// One warp for $U results at a time; those behind the end are made from the
// last one's operands and not written.
constexpr std::string_view kWarps = R"(  const u32 lane = threadIdx.x % 32;
  for (I first = (block * 16 + threadIdx.x / 32) * $U; first < $N;
       first += (I)blocks * (16 * $U)) {
    const A* a[$U];
    const A* b[$U];
    C sums[$U];
#pragma unroll
    for (int u = 0; u < $U; ++u) {
      const I o = first + u < $N ? first + u : $N - 1;
      a[u] = $from_a;
      b[u] = $from_b;
      sums[u] = 0;
    }
#pragma unroll 2
    for (I p = lane; p < $k; p += 32) {
#pragma unroll
      for (int u = 0; u < $U; ++u) {
        sums[u] = mul_add((C)load(a[u][p * $a_col]),
                          (C)load(b[u][p * $b_row]), sums[u]);
      }
    }
#pragma unroll
    for (int u = 0; u < $U; ++u) {
      const I o = first + u;
      C sum = Team<32>::join<Sum>(sums[u]);
      if (lane == 0 && o < $N) {
        $finish
      }
    }
  }
)";

cuda::OpCode small_product(const KernelQuery& query,
                           const ProductShape& shape) {
  const std::int64_t outputs = shape.batch * shape.m * shape.n;
  if (outputs == 0) return cuda_op(query, "matmul:cuda:thread", "", 1);
  const DType operands = query.inputs[0].dtype;
  const bool warps = shape.k >= 32;
  const std::int64_t side_by_side = outputs >= 64 ? kSideBySide : 1;
  const std::int64_t most_elements =
      std::max({outputs, query.inputs[0].shape.elements(),
                query.inputs[1].shape.elements()});
  // Where the operands of output number o begin.
  const std::string from_a =
      fmt::format("in0 + o / {} * {} + o / {} % {} * {}", shape.m * shape.n,
                  shape.a_batch, shape.n, shape.m, shape.a_row);
  const std::string from_b =
      fmt::format("in1 + o / {} * {} + o % {} * {}", shape.m * shape.n,
                  shape.b_batch, shape.n, shape.b_col);
  const std::string types =
      fmt::format("  typedef {} A;\n  typedef {} C;\n  typedef {} I;\n",
                  cuda_type(operands), cuda_type(wide_dtype(operands)),
                  cuda_index(most_elements));
  const std::string body =
      types + cuda_text(warps ? kWarps : kThreads,
                        {{"N", outputs},
                         {"k", shape.k},
                         {"U", side_by_side},
                         {"a_col", shape.a_col},
                         {"b_row", shape.b_row},
                         {"from_a", from_a},
                         {"from_b", from_b},
                         {"finish", finish_of(shape, query.outputs[0].dtype)}});
  const std::int64_t groups = (outputs + side_by_side - 1) / side_by_side;
  cuda::OpCode code =
      cuda_op(query, warps ? "matmul:cuda:warp" : "matmul:cuda:thread", body,
              warps ? cuda_blocks((groups + 15) / 16)
                    : cuda_blocks_of_threads(outputs));
  // Of a block alone: a warp's rounds wait for their reads and joins, those of
  // threads mostly find their operands near.
  auto& function = std::get<cuda::Function>(code.stages[0]);
  const double rounds =
      static_cast<double>(warps ? (groups + 15) / 16 : (outputs + 511) / 512);
  const double a_round =
      warps ? 0.1e-6 + 0.2e-6 * static_cast<double>((shape.k + 31) / 32)
            : 0.08e-6 + 0.02e-6 * static_cast<double>(shape.k);
  function.one_block_seconds += rounds * a_round;
  return code;
}

Result<cuda::OpCode> code(const KernelQuery& query,
                          const CudaSettings& settings) {
  if (!is_floating(query.inputs[0].dtype)) return cuda::OpCode();
  const ProductShape shape =
      product_shape(query.inputs, query.outputs, *query.attrs);
  if (shape.flops() / 2 <= kSmallProduct) return small_product(query, shape);
  const DType operands = query.inputs[0].dtype;
  const std::string finish = finish_of(shape, query.outputs[0].dtype);
  if (suits_vector(shape, operands)) {
    return vector_product(query, shape, finish);
  }
  const bool tf32 = settings.tf32 && operands == DType::f32;
  if (!tf32 && suits_skinny(shape, operands)) {
    return skinny_product(query, shape, finish);
  }
  if (shape.batch > kMostBatches) {
    return Error{ErrorCode::unsupported,
                 fmt::format("matmul of {} batches: the library on cuda takes "
                             "{} at most",
                             shape.batch, kMostBatches)};
  }
  return library_product(query, shape, settings);
}

constexpr CudaKernels kKernels[] = {{"matmul", code}};

}  // namespace

std::int64_t product_workspace(std::int64_t m, std::int64_t n, std::int64_t k,
                               DType output) {
  ProductShape shape;
  shape.m = m;
  shape.n = n;
  shape.k = k;
  return workspace_bytes(shape, output);
}

std::span<const CudaKernels> matmul_cuda_kernels() { return kKernels; }

}  // namespace plimsoll::ops
