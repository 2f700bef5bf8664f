#include "ops/update/update_cuda.h"

#include <fmt/core.h>

#include <cmath>

#include "ops/cuda_text.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

// What an update does besides reading parameter p, gradient g and states, and
// writing them: its preparation once a block, and its formula an element. The
// formulas are those of update_loops.cpp.
struct Rule {
  std::string_view op;
  int states = 0;  // inputs after the gradient, outputs after the parameter
  std::string_view prepare;
  std::string_view element;
};

constexpr std::string_view kSgdRate = "  const C rate = load(in2[0]);\n";
constexpr std::string_view kSgd = "      p = mul_add(-rate, g, p);\n";

constexpr std::string_view kMomentumRate = "  const C rate = load(in3[0]);\n";
constexpr std::string_view kMomentum =
    R"(      s0 = mul_add(-rate, g, mul($momentum, s0));
      p = add(p, s0);
)";

// 1 - beta^t by way of the logarithm. Every thread for itself: a barrier would
// hold up its reads.
constexpr std::string_view kAdamRate =
    R"(  const C given = (C)load(in4[0]);
  const C t = (C)in5[0];
  const C rate = div(mul(given, root(-expm1_of(mul(t, $log_beta_2)))),
                     -expm1_of(mul(t, $log_beta_1)));
  const C keep = sub((C)1, mul(given, $weight_decay));
)";
constexpr std::string_view kAdam =
    R"(      s0 = mul_add(sub(g, s0), $gain_1, s0);
      s1 = mul_add(-mul_add(-g, g, s1), $gain_2, s1);
      p = mul_add(-rate, div(s0, add(root(s1), $epsilon)), p);
)";
constexpr std::string_view kAdamW =
    R"(      s0 = mul_add(sub(g, s0), $gain_1, s0);
      s1 = mul_add(-mul_add(-g, g, s1), $gain_2, s1);
      p = mul_add(-rate, div(s0, add(root(s1), $epsilon)), mul(keep, p));
)";

constexpr Rule kRules[] = {{"sgd", 0, kSgdRate, kSgd},
                           {"sgd_momentum", 1, kMomentumRate, kMomentum},
                           {"adam", 2, kAdamRate, kAdam},
                           {"adamw", 2, kAdamRate, kAdamW}};

constexpr std::string_view kLoop = R"(  typedef $T T;
  typedef $C C;
  typedef $I I;
$prepare  for (I i = (I)(block * 512 + threadIdx.x) * $V; i < $N;
       i += (I)blocks * (512 * $V)) {
    Vec<T, $V> parameter = read<$V>(in0 + i);
    const Vec<T, $V> gradient = read<$V>(in1 + i);
$reads#pragma unroll
    for (int j = 0; j < $V; ++j) {
      C p = load(parameter.v[j]);
      const C g = load(gradient.v[j]);
$loads$element      parameter.v[j] = store<T>(p);
$stores    }
    write<$V>(out0 + i, parameter);
$writes  }
)";

std::string numbers_filled(std::string_view text, const KernelQuery& query,
                           DType compute) {
  const auto attr = [&](const char* name) {
    return query.attrs->get<double>(name);
  };
  return cuda_text(
      text, {{"momentum", cuda_number(compute, attr("momentum"))},
             {"log_beta_1", cuda_number(compute, std::log(attr("beta_1")))},
             {"log_beta_2", cuda_number(compute, std::log(attr("beta_2")))},
             {"gain_1", cuda_number(compute, 1 - attr("beta_1"))},
             {"gain_2", cuda_number(compute, 1 - attr("beta_2"))},
             {"epsilon", cuda_number(compute, attr("epsilon"))},
             {"weight_decay", cuda_number(compute, attr("weight_decay"))}});
}

CudaUpdateText text_of(const KernelQuery& query, const Rule& rule) {
  const DType compute = cuda_compute(query.inputs[0].dtype);
  return {rule.states, numbers_filled(rule.prepare, query, compute),
          numbers_filled(rule.element, query, compute)};
}

Result<cuda::OpCode> update(const KernelQuery& query, const Rule& rule) {
  const DType dtype = query.inputs[0].dtype;
  if (!is_floating(dtype)) return cuda::OpCode();
  std::string name = fmt::format("{}:cuda", rule.op);
  const std::int64_t elements = query.inputs[0].shape.elements();
  if (elements == 0) return cuda_op(query, std::move(name), "", 1);
  const DType compute = cuda_compute(dtype);
  const std::int64_t width = cuda_width(size_of(dtype), elements);
  const CudaUpdateText text = text_of(query, rule);
  std::string reads, loads, stores, writes;
  for (int k = 0; k < rule.states; ++k) {
    reads += fmt::format("    Vec<T, {0}> state{1} = read<{0}>(in{2} + i);\n",
                         width, k, k + 2);
    loads += fmt::format("      C s{0} = load(state{0}.v[j]);\n", k);
    stores += fmt::format("      state{0}.v[j] = store<T>(s{0});\n", k);
    writes +=
        fmt::format("    write<{}>(out{} + i, state{});\n", width, k + 1, k);
  }
  return cuda_op(query, std::move(name),
                 cuda_text(kLoop, {{"T", cuda_type(dtype)},
                                   {"C", cuda_type(compute)},
                                   {"I", cuda_index(elements)},
                                   {"V", width},
                                   {"N", elements},
                                   {"prepare", text.prepare},
                                   {"element", text.element},
                                   {"reads", reads},
                                   {"loads", loads},
                                   {"stores", stores},
                                   {"writes", writes}}),
                 cuda_blocks_of_threads(elements / width));
}

template <std::size_t kIndex>
Result<cuda::OpCode> code(const KernelQuery& query, const CudaSettings&) {
  return update(query, kRules[kIndex]);
}

Result<cuda::OpCode> increment(const KernelQuery& query, const CudaSettings&) {
  return cuda_op(query, "increment:cuda",
                 "  if (block == 0 && threadIdx.x == 0) {\n"
                 "    out0[0] = in0[0] + 1;\n"
                 "  }\n",
                 1);
}

Result<cuda::OpCode> accumulate(const KernelQuery& query, const CudaSettings&) {
  if (!is_floating(query.inputs[1].dtype)) return cuda::OpCode();
  return cuda_op(query, "accumulate:cuda",
                 "  if (block == 0 && threadIdx.x == 0) {\n"
                 "    out0[0] = add(in0[0], (f64)load(in1[0]));\n"
                 "  }\n",
                 1);
}

constexpr CudaKernels kKernels[] = {
    {"sgd", code<0>},   {"sgd_momentum", code<1>}, {"adam", code<2>},
    {"adamw", code<3>}, {"increment", increment},  {"accumulate", accumulate}};

}  // namespace

CudaUpdateText cuda_update_text(const KernelQuery& query,
                                std::string_view rule) {
  for (const Rule& known : kRules) {
    if (known.op == rule) return text_of(query, known);
  }
  return {};
}

std::span<const CudaKernels> update_cuda_kernels() { return kKernels; }

}  // namespace plimsoll::ops
