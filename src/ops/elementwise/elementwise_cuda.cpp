#include "ops/elementwise/elementwise_cuda.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "ops/cuda_text.h"
#include "ops/elementwise/domain.h"
#include "ops/elementwise/elementwise.h"

namespace plimsoll::ops {
namespace {

using graph::ElementwiseCode;
using graph::ElementwiseExpression;
using graph::KernelQuery;

// Registers for what is read and written at once: the rest is for computing.
constexpr std::int64_t kMostVectorBytes = 160;

bool takes_scalar(ElementwiseCode code) {
  switch (code) {
    case ElementwiseCode::constant:
    case ElementwiseCode::add_scalar:
    case ElementwiseCode::multiply_scalar:
    case ElementwiseCode::maximum_scalar:
    case ElementwiseCode::minimum_scalar:
    case ElementwiseCode::greater_scalar:
    case ElementwiseCode::leaky_relu:
    case ElementwiseCode::leaky_relu_grad:
    case ElementwiseCode::elu:
    case ElementwiseCode::elu_grad:
    case ElementwiseCode::power_scalar:
      return true;
    default:
      return false;
  }
}

// Elements that one thread makes at once: all of them lie in one run of the
// innermost dimension, in which each input advances by one or stands.
std::int64_t width_of(const Domain& domain, std::int64_t bytes,
                      std::int64_t operands) {
  std::int64_t width =
      cuda_width(bytes, domain.extents.empty() ? 1 : domain.extents.back());
  while (width > 1 && operands * width * bytes > kMostVectorBytes) width /= 2;
  return width;
}

// Where the input's elements for the outputs from i on begin.
std::string offset_of(const Domain& domain, const InputAccess& input) {
  switch (input.access) {
    case Access::dense:
      return "i";
    case Access::scalar:
      return "0";
    case Access::periodic:
    case Access::tiled:
      return fmt::format("i % {}", input.period);
    case Access::expanded:
      break;
  }
  std::vector<CudaAxis> axes;
  for (std::size_t i = 0; i < domain.extents.size(); ++i) {
    axes.push_back({domain.extents[i], input.strides[i]});
  }
  return cuda_offset(axes, "i");
}

bool stands(const InputAccess& input) {
  return input.access == Access::scalar ||
         (input.access == Access::expanded && input.strides.back() == 0);
}

// One element: operands a0, a1, ... are inputs, then results.
std::string expression_text(const Domain& domain,
                            const ElementwiseExpression& expression,
                            DType compute, CudaNumbers& numbers) {
  std::string text;
  for (int i = 0; i < expression.inputs; ++i) {
    const InputAccess& input = domain.inputs[static_cast<std::size_t>(i)];
    text += stands(input)
                ? fmt::format("    const C a{0} = x{0};\n", i)
                : fmt::format("    const C a{0} = load(x{0}.v[j]);\n", i);
  }
  int next = expression.inputs;
  for (const auto& step : expression.instructions) {
    std::string arguments;
    const auto add = [&](const std::string& argument) {
      arguments += (arguments.empty() ? "" : ", ") + argument;
    };
    const int arity = graph::arity_of(step.code);
    if (arity > 0) add(fmt::format("a{}", step.a));
    if (arity > 1) add(fmt::format("a{}", step.b));
    if (arity > 2) add(fmt::format("a{}", step.c));
    if (takes_scalar(step.code)) add(numbers.number(compute, step.scalar));
    text += fmt::format("    const C a{} = e_{}({});\n", next++,
                        graph::name_of(step.code), arguments);
  }
  return text;
}

std::string body_of(const KernelQuery& query, const Domain& domain,
                    const ElementwiseExpression& expression, std::int64_t width,
                    CudaNumbers& numbers) {
  const DType compute = wide_dtype(query.outputs[0].dtype);
  std::string once, reads, writes, results, keep;
  for (std::size_t k = 0; k < domain.inputs.size(); ++k) {
    const InputAccess& input = domain.inputs[k];
    const std::string at = offset_of(domain, input);
    if (input.access == Access::scalar) {
      once += fmt::format("  const C x{0} = load(in{0}[0]);\n", k);
    } else if (stands(input)) {
      reads += fmt::format("    const C x{0} = load(in{0}[{1}]);\n", k, at);
    } else {
      reads += fmt::format(
          "    const Vec<{3}, {2}> x{0} = read<{2}>(in{0} + {1});\n", k, at,
          width, cuda_type(query.inputs[k].dtype));
    }
  }
  for (std::size_t k = 0; k < expression.results.size(); ++k) {
    const std::string_view type = cuda_type(query.outputs[k].dtype);
    results += fmt::format("    Vec<{2}, {1}> y{0};\n", k, width, type);
    keep += fmt::format("    y{}.v[j] = store<{}>(a{});\n", k, type,
                        expression.results[k]);
    writes += fmt::format("    write<{1}>(out{0} + i, y{0});\n", k, width);
  }
  // Everything of these elements is read before any of it is written.
  return cuda_text(
      R"(  typedef $C C;
$once  for ($I i = ($I)(block * 512 + threadIdx.x) * $V; i < $N;
       i += ($I)blocks * (512 * $V)) {
$reads$results#pragma unroll
    for (int j = 0; j < $V; ++j) {
$compute$keep    }
$writes  }
)",
      {{"C", cuda_type(compute)},
       {"I", cuda_index(domain.elements)},
       {"V", width},
       {"N", domain.elements},
       {"once", once},
       {"reads", reads},
       {"results", results},
       {"compute", expression_text(domain, expression, compute, numbers)},
       {"keep", keep},
       {"writes", writes}});
}

Result<cuda::OpCode> code(const KernelQuery& query,
                          const CudaSettings& settings) {
  const graph::TensorType& type = query.outputs[0];
  // f64 by itself; f32, bf16 and f16 are computed in f32 and go together.
  std::int64_t widest = 0;
  for (const auto types : {query.inputs, query.outputs}) {
    for (const graph::TensorType& one : types) {
      if (!is_floating(one.dtype) ||
          wide_dtype(one.dtype) != wide_dtype(type.dtype)) {
        return cuda::OpCode();
      }
      widest = std::max(widest, size_of(one.dtype));
    }
  }
  const auto domain = find_domain(query.inputs, type.shape);
  if (!domain) return cuda::OpCode();
  // Every element is made alone: nothing but the op decides its rounding.
  std::string name = fmt::format("{}:cuda", query.op->name);
  if (domain->elements == 0) return cuda_op(query, std::move(name), "", 1);
  const std::int64_t width = width_of(
      *domain, widest, std::ssize(query.inputs) + std::ssize(query.outputs));
  const auto expression = expression_of(*query.op, *query.attrs);
  CudaNumbers numbers(settings);
  std::string body = body_of(query, *domain, expression, width, numbers);
  return std::move(numbers).in(
      cuda_op(query, std::move(name), std::move(body),
              cuda_blocks_of_threads(domain->elements / width)));
}

}  // namespace

std::span<const CudaKernels> elementwise_cuda_kernels() {
  static const auto kernels = [] {
    std::vector<CudaKernels> all;
    for (const graph::OpDef* op : elementwise_ops()) {
      all.push_back({op->name, code});
    }
    return all;
  }();
  return kernels;
}

}  // namespace plimsoll::ops
