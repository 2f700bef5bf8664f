#include "ops/update/update_cuda.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "ops/cuda_text.h"
#include "ops/update/step_function_cuda.h"
#include "ops/update/update.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

// What an update does besides reading parameter p, gradient g and states, and
// writing them: its preparation once a block, and its formula an element. The
// formulas are those of update_loops.cpp.
struct Rule {
  std::string_view prepare;
  std::string_view element;
};

constexpr std::string_view kRate = "  const C rate = load(in$rate_input[0]);\n";
constexpr std::string_view kSgd = "      p = mul_add(-rate, g, p);\n";
constexpr std::string_view kMomentum =
    R"(      s0 = mul_add(-rate, g, mul($momentum, s0));
      p = add(p, s0);
)";
constexpr std::string_view kNesterov =
    R"(      s0 = mul_add(-rate, g, mul($momentum, s0));
      p = mul_add($momentum, s0, mul_add(-rate, g, p));
)";
constexpr std::string_view kRmsprop =
    R"(      s0 = mul_add(-mul_add(-g, g, s0), $gain_rho, s0);
      p = sub(p, div(mul(rate, g), root(add(s0, $epsilon))));
)";
constexpr std::string_view kRmspropMomentum =
    R"(      s0 = mul_add(-mul_add(-g, g, s0), $gain_rho, s0);
      s1 = mul_add($momentum, s1, div(mul(rate, g), root(add(s0, $epsilon))));
      p = sub(p, s1);
)";
// Rounding may leave a little less than nothing under the root.
constexpr std::string_view kRmspropCentered =
    R"(      s0 = mul_add(-mul_add(-g, g, s0), $gain_rho, s0);
      s1 = mul_add(sub(g, s1), $gain_rho, s1);
      C spread = mul_add(-s1, s1, s0);
      if (spread < (C)0) spread = (C)0;
      p = sub(p, div(mul(rate, g), root(add(spread, $epsilon))));
)";
constexpr std::string_view kRmspropCenteredMomentum =
    R"(      s0 = mul_add(-mul_add(-g, g, s0), $gain_rho, s0);
      s2 = mul_add(sub(g, s2), $gain_rho, s2);
      C spread = mul_add(-s2, s2, s0);
      if (spread < (C)0) spread = (C)0;
      s1 = mul_add($momentum, s1,
                   div(mul(rate, g), root(add(spread, $epsilon))));
      p = sub(p, s1);
)";
constexpr std::string_view kAdagrad = R"(      s0 = mul_add(g, g, s0);
      p = sub(p, div(mul(rate, g), root(add(s0, $epsilon))));
)";

// 1 - beta^t by way of the logarithm. Every thread for itself: a barrier would
// hold up its reads.
constexpr std::string_view kAdamRate =
    R"(  const C given = (C)load(in$rate_input[0]);
  const C t = (C)in$step_input[0];
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

constexpr std::string_view kLambRate =
    R"(  const C given = (C)load(in$rate_input[0]);
  const C t = (C)in$step_input[0];
  const C fix = root(-expm1_of(mul(t, $log_beta_2)));
  const C rate = div(mul(given, fix), -expm1_of(mul(t, $log_beta_1)));
  const C small = mul($epsilon, fix);
  const C decay = mul(given, $weight_decay);
)";
constexpr std::string_view kLamb =
    R"(      s0 = mul_add(sub(g, s0), $gain_1, s0);
      s1 = mul_add(-mul_add(-g, g, s1), $gain_2, s1);
      p = mul_add(rate, div(s0, add(root(s1), small)), mul(decay, p));
)";

// In the order of the rules.
constexpr std::array<Rule, kUpdateRules> kRules = {
    {{kRate, kSgd},
     {kRate, kMomentum},
     {kRate, kNesterov},
     {kAdamRate, kAdam},
     {kAdamRate, kAdamW},
     {kRate, kRmsprop},
     {kRate, kRmspropMomentum},
     {kRate, kRmspropCentered},
     {kRate, kRmspropCenteredMomentum},
     {kRate, kAdagrad},
     {kLambRate, kLamb}}};

constexpr std::string_view kLoop = R"(  typedef $T T;
  typedef $C C;
  typedef $I I;
$prepare$keep  for (I i = (I)(block * 512 + threadIdx.x) * $V; i < $N;
       i += (I)blocks * (512 * $V)) {
    Vec<T, $V> parameter = read<$V>(in0 + i);
    const Vec<T, $V> gradient = read<$V>(in1 + i);
$reads#pragma unroll
    for (int j = 0; j < $V; ++j) {
      C p = load(parameter.v[j]);
      const C g = $gradient;
$loads$element      parameter.v[j] = store<T>(p);
$stores    }
    write<$V>(out0 + i, parameter);
$writes  }
)";

std::string numbers_filled(std::string_view text, const KernelQuery& query,
                           const UpdateForm& form, DType compute) {
  const auto number = [&](double value) { return cuda_number(compute, value); };
  const auto attr = [&](const char* name) {
    return query.attrs->get<double>(name);
  };
  return cuda_text(text, {{"rate_input", form.rate()},
                          {"step_input", form.rate() + 1},
                          {"momentum", number(attr("momentum"))},
                          {"log_beta_1", number(std::log(attr("beta_1")))},
                          {"log_beta_2", number(std::log(attr("beta_2")))},
                          {"gain_1", number(1 - attr("beta_1"))},
                          {"gain_2", number(1 - attr("beta_2"))},
                          {"gain_rho", number(1 - attr("rho"))},
                          {"epsilon", number(attr("epsilon"))},
                          {"weight_decay", number(attr("weight_decay"))}});
}

CudaUpdateText text_of(const KernelQuery& query, const UpdateForm& form,
                       std::size_t inputs) {
  const Rule& rule = kRules[static_cast<std::size_t>(form.rule)];
  const DType compute = wide_dtype(query.inputs[0].dtype);
  const int gate = form.gate(inputs);
  std::string prepare = numbers_filled(rule.prepare, query, form, compute);
  if (gate >= 0) {
    prepare += fmt::format("  const C gate = load(in{}[0]);\n", gate);
  }
  return {form.states, gate >= 0, std::move(prepare),
          numbers_filled(rule.element, query, form, compute)};
}

// A closed gate: everything stays, and LAMB's change is 0. In place, as
// planned, nothing is copied.
std::string keep_text(const UpdateForm& form, std::int64_t width,
                      std::int64_t elements) {
  constexpr std::string_view kEach =
      R"(      for (I i = (I)(block * 512 + threadIdx.x) * $V; i < $N;
           i += (I)blocks * (512 * $V)) {
        $what
      }
)";
  std::string text = "  if (gate == (C)0) {\n";
  const bool zero = form.rule == UpdateRule::lamb;
  if (zero) {
    text += cuda_text(kEach, {{"V", width},
                              {"N", elements},
                              {"what", fmt::format("for (int j = 0; j < {}; ++j"
                                                   ") out0[i + j] = (T)0;",
                                                   width)}});
  }
  for (int k = zero ? 0 : -1; k < form.states; ++k) {
    const int from = k < 0 ? 0 : k + 2;
    text += fmt::format("    if ((const void*)out{} != (const void*)in{}) {{\n",
                        k + 1, from);
    text += cuda_text(kEach, {{"V", width},
                              {"N", elements},
                              {"what", fmt::format("write<{0}>(out{1} + i, "
                                                   "read<{0}>(in{2} + i));",
                                                   width, k + 1, from)}});
    text += "    }\n";
  }
  return text + "    return;\n  }\n";
}

Result<cuda::OpCode> update(const KernelQuery& query, const CudaSettings&) {
  const UpdateForm* const form = find_update_form(query.op->name);
  if (form == nullptr) return cuda::OpCode();
  const DType dtype = query.inputs[0].dtype;
  if (!is_floating(dtype)) return cuda::OpCode();
  std::string name = fmt::format("{}:cuda", form->op);
  const std::int64_t elements = query.inputs[0].shape.elements();
  if (elements == 0) return cuda_op(query, std::move(name), "", 1);
  const DType compute = wide_dtype(dtype);
  const std::int64_t width = cuda_width(size_of(dtype), elements);
  const CudaUpdateText text = text_of(query, *form, query.inputs.size());
  std::string reads, loads, stores, writes;
  const std::string keep = text.gated ? keep_text(*form, width, elements) : "";
  for (int k = 0; k < text.states; ++k) {
    reads += fmt::format("    Vec<T, {0}> state{1} = read<{0}>(in{2} + i);\n",
                         width, k, k + 2);
    loads += fmt::format("      C s{0} = load(state{0}.v[j]);\n", k);
    stores += fmt::format("      state{0}.v[j] = store<T>(s{0});\n", k);
    writes +=
        fmt::format("    write<{}>(out{} + i, state{});\n", width, k + 1, k);
  }
  return cuda_op(
      query, std::move(name),
      cuda_text(kLoop, {{"T", cuda_type(dtype)},
                        {"C", cuda_type(compute)},
                        {"I", cuda_index(elements)},
                        {"V", width},
                        {"N", elements},
                        {"prepare", text.prepare},
                        {"element", text.element},
                        {"keep", keep},
                        {"gradient", text.gated ? "mul(load(gradient.v[j]), "
                                                  "gate)"
                                                : "load(gradient.v[j])"},
                        {"reads", reads},
                        {"loads", loads},
                        {"stores", stores},
                        {"writes", writes}}),
      cuda_blocks_of_threads(elements / width));
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

constexpr std::int64_t kFinitePart = 16384;  // elements of a block's round
constexpr std::int64_t kMostFiniteParts = 264;

// `bad` is 1 where something is infinite or NaN.
constexpr std::string_view kFinite =
    R"(  for (u32 task = block; task < $parts; task += blocks) {
    const u64 first = (u64)task * $partull;
    const u64 end = first + $partull < $Null ? first + $partull : $Null;
    f32 bad = 0;
#pragma unroll 4
    for (u64 i = first + threadIdx.x * $V; i < end; i += 512 * $V) {
      const Vec<$T, $V> x = read<$V>(in0 + i);
#pragma unroll
      for (int j = 0; j < $V; ++j) {
        if (!(abs_of(load(x.v[j])) < infinity_of<$C>())) bad = 1;
      }
    }
    bad = Team<512>::join<Max>(bad);
    if (threadIdx.x == 0) $write
  }
)";
constexpr std::string_view kJoinFinite =
    R"(  if (block == 0 && threadIdx.x < 32) {
    f32 bad = 0;
    for (u32 p = threadIdx.x; p < $parts; p += 32) {
      bad = Max::join(bad, ((const f32*)scratch)[p]);
    }
    bad = Team<32>::join<Max>(bad);
    if (threadIdx.x == 0) $write
  }
)";

Result<cuda::OpCode> all_finite(const KernelQuery& query, const CudaSettings&) {
  const DType dtype = query.inputs[0].dtype;
  const std::int64_t elements = query.inputs[0].shape.elements();
  const std::int64_t width = cuda_width(size_of(dtype), elements);
  std::int64_t parts = std::clamp<std::int64_t>(
      (elements + kFinitePart - 1) / kFinitePart, 1, kMostFiniteParts);
  std::int64_t part = (elements + parts - 1) / parts;
  part = std::max<std::int64_t>(1, (part + width - 1) / width) * width;
  parts = std::max<std::int64_t>(1, (elements + part - 1) / part);
  const std::string write = fmt::format("out0[0] = ({})(bad == 0 ? 1 : 0);",
                                        cuda_type(query.outputs[0].dtype));
  cuda::OpCode code = cuda_op(
      query, "all_finite:cuda",
      cuda_text(
          kFinite,
          {{"parts", parts},
           {"partull", fmt::format("{}ull", part)},
           {"Null", fmt::format("{}ull", elements)},
           {"V", width},
           {"T", cuda_type(dtype)},
           {"C", cuda_type(wide_dtype(dtype))},
           {"write", parts == 1 ? write : "((f32*)scratch)[task] = bad;"}}),
      cuda_blocks(parts));
  if (parts == 1) return code;
  code.scratch_bytes = parts * 4;
  code.stages.emplace_back(cuda_function(
      query, cuda_text(kJoinFinite, {{"parts", parts}, {"write", write}}), 1,
      {static_cast<double>(parts), static_cast<double>(parts * 4)}));
  return code;
}

Result<cuda::OpCode> scale_step(const KernelQuery& query, const CudaSettings&) {
  const DType dtype = query.inputs[0].dtype;
  return cuda_op(
      query, "scale_step:cuda",
      cuda_text(R"(  if (block == 0 && threadIdx.x == 0) {
    const $T scale = in0[0];
    const i64 good = in1[0], step = in2[0];
    const bool finite = in3[0] != 0;
    const bool grown = finite && good + 1 >= $growth;
    $T next = finite ? (grown ? mul(scale, ($T)2) : scale)
                     : mul(scale, ($T)0.5);
    if (next < ($T)$least) next = ($T)$least;
    if (next > ($T)$most) next = ($T)$most;
    out0[0] = next;
    out1[0] = finite && !grown ? good + 1 : 0;
    out2[0] = step + (finite ? 1 : 0);
    out3[0] = finite ? div(($T)1, scale) : ($T)0;
  }
)",
                {{"T", cuda_type(dtype)},
                 {"growth", query.attrs->get<std::int64_t>("growth_steps")},
                 {"least", static_cast<std::int64_t>(kLeastScale)},
                 {"most", static_cast<std::int64_t>(kMostScale)}}),
      1);
}

std::vector<CudaKernels> collect() {
  std::vector<CudaKernels> kernels = {{"increment", increment},
                                      {"accumulate", accumulate},
                                      {"all_finite", all_finite},
                                      {"scale_step", scale_step},
                                      step_function_cuda_kernel()};
  for (const UpdateForm& form : kUpdateForms) {
    kernels.push_back({form.op, update});
  }
  return kernels;
}

}  // namespace

CudaUpdateText cuda_update_text(const KernelQuery& query, std::size_t inputs) {
  const UpdateForm* const form = find_update_form(query.op->name);
  return form == nullptr ? CudaUpdateText() : text_of(query, *form, inputs);
}

std::span<const CudaKernels> update_cuda_kernels() {
  static const std::vector<CudaKernels> kernels = collect();
  return kernels;
}

}  // namespace plimsoll::ops
