#include <numeric>

#include "ops/cuda_text.h"
#include "ops/indexing/gather.h"
#include "ops/indexing/indexing_cuda.h"
#include "ops/movement/element_bits.h"
#include "ops/movement/units_cuda.h"

namespace plimsoll::ops {

// Units of the result, neighbours by neighbouring threads: a row's index is
// read by all of them, from the cache.
Result<cuda::OpCode> gather_cuda(const graph::KernelQuery& query,
                                 const CudaSettings&) {
  const graph::TensorType& table = query.inputs[0];
  const Gathered shape = gathered(table, query.inputs[1], *query.attrs);
  const std::int64_t bytes = size_of(table.dtype);
  const std::int64_t elements = query.outputs[0].shape.elements();
  if (elements == 0) return cuda_op(query, "gather:cuda", "", 1);
  const std::int64_t unit = std::gcd(std::int64_t{16}, shape.inner * bytes);
  const std::int64_t units = elements * bytes / unit;
  return cuda_op(
      query, "gather:cuda",
      cuda_text(R"(  typedef $I I;
  typedef $W W;
  for (I i = (I)block * 512 + threadIdx.x; i < $units; i += (I)blocks * 512) {
    const I row = i / $width;
    i64 at = (i64)in1[row % $indices];
$from_end    W value = $outside;
    if (at >= 0 && at < $rows) {
      value = ((const W*)in0)[(row / $indices * $rows + (I)at) * $width +
                              i % $width];
    }
    ((W*)out0)[i] = value;
  }
)",
                {{"I", cuda_index(std::max(elements, table.shape.elements()))},
                 {"W", unit_type(unit)},
                 {"units", units},
                 {"width", shape.inner * bytes / unit},
                 {"indices", shape.indices},
                 {"rows", shape.rows},
                 {"from_end", from_end_text(*query.attrs, shape.rows)},
                 {"outside", unit_of(outside_bits(table.dtype, *query.attrs),
                                     bytes, unit)}}),
      cuda_blocks_of_threads(units));
}

// Elements as words: they are only set.
Result<cuda::OpCode> one_hot_cuda(const graph::KernelQuery& query,
                                  const CudaSettings&) {
  const graph::TensorType& out = query.outputs[0];
  const std::int64_t elements = out.shape.elements();
  const std::int64_t bytes = size_of(out.dtype);
  if (elements == 0) return cuda_op(query, "one_hot:cuda", "", 1);
  PLIMSOLL_ASSIGN(const std::uint64_t one, element_bits(out.dtype, 1));
  return cuda_op(query, "one_hot:cuda",
                 cuda_text(R"(  typedef $I I;
  typedef $W W;
  const W one = $one, zero = $zero;
  for (I i = (I)block * 512 + threadIdx.x; i < $N; i += (I)blocks * 512) {
    const bool here = (i64)(i % $depth) == (i64)in0[i / $depth];
    ((W*)out0)[i] = here ? one : zero;
  }
)",
                           {{"I", cuda_index(elements)},
                            {"W", unit_type(bytes)},
                            {"one", unit_of(one, bytes, bytes)},
                            {"zero", unit_of(0, bytes, bytes)},
                            {"N", elements},
                            {"depth", out.shape.extent(-1)}}),
                 cuda_blocks_of_threads(elements));
}

}  // namespace plimsoll::ops
