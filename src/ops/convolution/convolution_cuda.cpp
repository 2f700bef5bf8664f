#include "ops/convolution/convolution_cuda.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/units.h"
#include "ops/convolution/own_convolution_cuda.h"
#include "ops/convolution/tiled_convolution_cuda.h"
#include "ops/cuda_text.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;
using Kind = cuda::Convolution::Kind;

// Up to so many products a function that runs beside its neighbours beats the
// library's launch.
constexpr double kSmallConvolution = 1 << 20;
// The library's kernels take channels in such multiples, and pad others in
// copies of the operands.
constexpr std::int64_t kChannelGrain = 8;
// What it may use beside those, and for weights that are summed in parts: one
// for each multiprocessor of a large device, seen with an H200.
constexpr std::int64_t kLeastWorkspace = 256 * kKiB;
constexpr std::int64_t kMostParts = 144;
constexpr std::int64_t kMostPartBytes = 12 * kMiB;
// Narrower groups are better off with a thread for each result.
constexpr std::int64_t kLeastGroup = 4;

bool suits_library(ConvPass pass, const ConvShape& shape, DType dtype,
                   bool tf32) {
  if (dtype == DType::f64 || shape.flops() / 2 <= kSmallConvolution) {
    return false;
  }
  // In full f32 it has 0.5 TFLOP/s on an H200, less than ours.
  if (dtype == DType::f32 && !tf32 && pass == ConvPass::data_grad) return false;
  if (shape.settings.groups == 1) return true;
  // Only the matrix units' kernels are made for groups.
  return (dtype != DType::f32 || tf32) &&
         shape.channels_per_group() % kLeastGroup == 0 &&
         shape.filters_per_group() % kLeastGroup == 0;
}

// From shapes alone, so that plans know it without the library.
std::int64_t workspace_bytes(ConvPass pass, const ConvShape& shape,
                             DType dtype) {
  const std::int64_t size = size_of(dtype);
  const std::int64_t channels =
      round_up(shape.channels_per_group(), kChannelGrain) *
      shape.settings.groups;
  const std::int64_t filters = round_up(shape.filters, kChannelGrain);
  const std::int64_t weights =
      filters * shape.kernel[0] * shape.kernel[1] *
      round_up(shape.channels_per_group(), kChannelGrain);
  std::int64_t bytes = kLeastWorkspace + weights * size;
  if (channels != shape.channels) {
    bytes += shape.batch * shape.in[0] * shape.in[1] * channels * size;
  }
  if (filters != shape.filters) {
    bytes += shape.batch * shape.out[0] * shape.out[1] * filters * size;
  }
  if (pass == ConvPass::weight_grad) {
    bytes += std::min(kMostParts * weights * 4, kMostPartBytes);
  }
  return round_up(bytes, 256);
}

// Bias and relu on a result that lies there already.
cuda::Function epilogue(const KernelQuery& query, const ConvShape& shape) {
  const graph::TensorType& type = query.outputs[0];
  const std::int64_t elements = type.shape.elements();
  const std::string text = cuda_text(
      R"(  typedef $C C;
  typedef $T T;
  typedef $I I;
  for (I i = (I)block * 512 + threadIdx.x; i < $runs; i += (I)blocks * 512) {
    Vec<T, $V> y = read<$V>(out0 + i * $V);
#pragma unroll
    for (int v = 0; v < $V; ++v) {
      const u32 o = i * $V % $O + v;
      C sum = load(y.v[v]);
$finish      y.v[v] = store<T>(sum);
    }
    write<$V>(out0 + i * $V, y);
  }
)",
      {{"C", cuda_type(wide_dtype(type.dtype))},
       {"T", cuda_type(type.dtype)},
       {"I", cuda_index(elements)},
       {"V", cuda_width(size_of(type.dtype), shape.filters)},
       {"runs", elements / cuda_width(size_of(type.dtype), shape.filters)},
       {"O", shape.filters},
       {"finish", finish_text(shape)}});
  const auto bytes = static_cast<double>(type.bytes());
  return cuda_function(query, text, cuda_blocks_of_threads(elements),
                       {static_cast<double>(elements), 2 * bytes});
}

// The library gives weights' gradients in the type of what it reads; they are
// rounded to it, as PyTorch's and JAX's are.
cuda::Function widening(const KernelQuery& query, DType from,
                        std::int64_t offset_bytes) {
  const graph::TensorType& type = query.outputs[0];
  const std::int64_t elements = type.shape.elements();
  const std::int64_t width = cuda_width(size_of(type.dtype), elements);
  const std::string text = cuda_text(
      R"(  typedef $T T;
  typedef $R R;
  typedef $I I;
  const T* const rounded = (const T*)((const char*)scratch + $offset);
  for (I i = (I)block * 512 + threadIdx.x; i < $runs; i += (I)blocks * 512) {
    const Vec<T, $V> from = read<$V>(rounded + i * $V);
    Vec<R, $V> to;
#pragma unroll
    for (int v = 0; v < $V; ++v) to.v[v] = load(from.v[v]);
    write<$V>(out0 + i * $V, to);
  }
)",
      {{"T", cuda_type(from)},
       {"R", cuda_type(type.dtype)},
       {"I", cuda_index(elements)},
       {"offset", offset_bytes},
       {"V", width},
       {"runs", elements / width}});
  const auto bytes = static_cast<double>(type.bytes());
  return cuda_function(query, text, cuda_blocks_of_threads(elements / width),
                       {static_cast<double>(elements), 1.5 * bytes});
}

cuda::OpCode library_convolution(const KernelQuery& query, ConvPass pass,
                                 const ConvShape& shape, bool tf32) {
  cuda::Convolution made;
  made.kind = static_cast<Kind>(pass);
  made.dtype = query.inputs[0].dtype;
  made.tf32 = tf32 && made.dtype == DType::f32;
  made.x = {shape.batch, shape.in[0], shape.in[1], shape.channels};
  made.w = {shape.filters, shape.kernel[0], shape.kernel[1],
            shape.channels_per_group()};
  made.y = {shape.batch, shape.out[0], shape.out[1], shape.filters};
  made.strides = shape.settings.strides;
  made.dilations = shape.settings.dilations;
  made.padding = shape.settings.padding;
  made.workspace_bytes = workspace_bytes(pass, shape, made.dtype);
  using Of = cuda::Operand::Of;
  const cuda::Operand first = {Of::input, 0};
  const cuda::Operand second = {Of::input, 1};
  const cuda::Operand result = {Of::output, 0};
  made.x_at = pass == ConvPass::forward     ? first
              : pass == ConvPass::data_grad ? result
                                            : second;
  made.w_at = pass == ConvPass::weight_grad ? result : second;
  made.y_at = pass == ConvPass::forward ? result : first;
  cuda::OpCode code;
  code.name = fmt::format("{}{}{}", query.op->name, kLayerLibrary,
                          made.tf32    ? ":tf32"
                          : shape.wide ? kRounded
                                       : "");
  code.scratch_bytes = made.workspace_bytes;
  if (shape.wide) {
    made.w_at = {Of::scratch, 0, code.scratch_bytes};
    code.scratch_bytes += round_up(shape.weights() * size_of(made.dtype), 256);
  }
  code.stages.emplace_back(made);
  if (shape.wide) {
    code.stages.emplace_back(
        widening(query, made.dtype, made.w_at.offset_bytes));
  }
  // The library would compile a kernel with these in the process.
  if (shape.bias || shape.relu) {
    code.stages.emplace_back(epilogue(query, shape));
  }
  return code;
}

template <ConvPass kPass>
Result<cuda::OpCode> code(const KernelQuery& query,
                          const CudaSettings& settings) {
  const DType dtype = query.inputs[0].dtype;
  if (!is_floating(dtype)) return cuda::OpCode();
  const ConvShape shape =
      conv_shape(kPass, query.inputs, query.outputs, *query.attrs);
  if (!settings.tf32 && suits_tiles(kPass, shape, dtype)) {
    return tiled_convolution(query, kPass, shape);
  }
  if (suits_library(kPass, shape, dtype, settings.tf32)) {
    return library_convolution(query, kPass, shape, settings.tf32);
  }
  return own_convolution(query, kPass, shape);
}

constexpr CudaKernels kKernels[] = {
    {"conv2d", code<ConvPass::forward>},
    {"conv2d_data_grad", code<ConvPass::data_grad>},
    {"conv2d_weight_grad", code<ConvPass::weight_grad>},
};

}  // namespace

std::span<const CudaKernels> convolution_cuda_kernels() { return kKernels; }

}  // namespace plimsoll::ops
