// Bare products, convolutions, updates and element-wise ops: the floor under a
// training step. Each kernel the catalogue offers for a shape is measured, the
// chosen one first.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "kernels/bare_kernel.h"
#include "kernels/kernel_case.h"
#include "ops/elementwise/elementwise.h"
#include "ops/matmul/matmul.h"
#include "ops/registry.h"

namespace plimsoll::bench {
namespace {

using Case = KernelCase;

Case product(std::string_view job, std::int64_t m, std::int64_t k,
             std::int64_t n, bool ta, bool tb, DType dtype = DType::f32) {
  const auto type = [&](bool swap, std::int64_t rows, std::int64_t columns) {
    return graph::TensorType{
        dtype, swap ? Shape{columns, rows} : Shape{rows, columns}};
  };
  Case made;
  made.name = fmt::format("{}/{}_{}x{}x{}{}{}", job, name_of(dtype), m, k, n,
                          ta ? "_ta" : "", tb ? "_tb" : "");
  made.op = &ops::matmul_op();
  made.inputs = {type(ta, m, k), type(tb, k, n)};
  made.attrs = {{"transpose_a", ta}, {"transpose_b", tb}};
  return made;
}

Case to_f32(Case made) {
  made.name += "_to_f32";
  made.attrs.set("out", std::string("f32"));
  return made;
}

Case update(std::string_view job, std::string_view op, int tensors,
            std::int64_t elements, DType dtype = DType::f32) {
  Case made;
  made.name = fmt::format("{}/{}_{}_{}", job, op, name_of(dtype), elements);
  made.op = ops::find_op(op);
  made.inputs.assign(static_cast<std::size_t>(tensors),
                     {dtype, Shape{elements}});
  made.inputs.push_back({dtype, Shape{}});
  if (tensors == 4) made.inputs.push_back({DType::i64, Shape{}});
  made.attrs = {
      {"beta_1", 0.9}, {"beta_2", 0.999}, {"epsilon", 1e-7}, {"momentum", 0.9}};
  return made;
}

Case elementwise(graph::ElementwiseCode code, std::int64_t elements,
                 DType dtype = DType::f32) {
  Case made;
  made.name = fmt::format("elementwise/{}_{}_{}", graph::name_of(code),
                          name_of(dtype), elements);
  made.op = &ops::elementwise_op(code);
  made.inputs.assign(static_cast<std::size_t>(graph::arity_of(code)),
                     {dtype, Shape{elements}});
  made.attrs = {{"scalar", 0.25}};
  return made;
}

// sigmoid(a + row) * a with its row, as fusion makes them.
Case fused(std::int64_t rows, std::int64_t columns) {
  using Code = graph::ElementwiseCode;
  Case made;
  made.name = fmt::format("elementwise/fused_{}x{}", rows, columns);
  made.op = &ops::fused_op();
  made.inputs = {{DType::f32, Shape{rows, columns}},
                 {DType::f32, Shape{columns}}};
  made.attrs = graph::to_attrs(
      {2,
       {{Code::add, 0, 1}, {Code::sigmoid, 2}, {Code::multiply, 3, 0}},
       {4}});
  return made;
}

// GPT-2's attention over 256 positions, and the three ops that would make
// its forward out of whole scores.
void add_attention(std::vector<Case>& all) {
  constexpr std::int64_t kHeads = 12;
  constexpr std::int64_t kPositions = 256;
  constexpr std::int64_t kWidth = 64;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    for (const bool causal : {false, true}) {
      const graph::TensorType q{dtype, {1, kPositions, kHeads, kWidth}};
      const graph::TensorType lse{dtype == DType::f64 ? DType::f64 : DType::f32,
                                  {1, kHeads, kPositions}};
      const std::string end =
          fmt::format("{}{}", name_of(dtype), causal ? "_causal" : "");
      const graph::Attrs attrs = {{"causal", causal}};
      all.push_back({"attention/forward_" + end,
                     ops::find_op("attention"),
                     {q, q, q},
                     attrs});
      all.push_back({"attention/backward_" + end,
                     ops::find_op("attention_grad"),
                     {q, q, q, q, q, lse},
                     attrs});
    }
  }
  const graph::TensorType rows{DType::f32, {kHeads, kPositions, kWidth}};
  const graph::TensorType scores{DType::f32, {kHeads, kPositions, kPositions}};
  all.push_back({"attention/by_parts_scores",
                 &ops::matmul_op(),
                 {rows, rows},
                 {{"transpose_b", true}}});
  all.push_back(
      {"attention/by_parts_softmax", ops::find_op("softmax"), {scores}, {}});
  all.push_back(
      {"attention/by_parts_values", &ops::matmul_op(), {scores, rows}, {}});
}

std::vector<Case> cases() {
  std::vector<Case> all = {
      // A batch of 32 through 1000 -> 128 -> 1, forward then backward.
      product("mlp1000", 32, 1000, 128, false, false),
      product("mlp1000", 32, 128, 1, false, false),
      product("mlp1000", 128, 32, 1, true, false),
      product("mlp1000", 32, 1, 128, false, true),
      product("mlp1000", 1000, 32, 128, true, false),
      update("mlp1000", "adam", 4, 128000),
      update("mlp1000", "adam", 4, 128),
      // A batch of 32 through 100 -> 10.
      product("linear100", 32, 100, 10, false, false),
      product("linear100", 100, 32, 10, true, false),
      update("linear100", "adam", 4, 1000),
      update("linear100", "adam", 4, 10),
      // The last layer of examples/models/conv28 in bf16.
      to_f32(product("conv28", 32, 131072, 10, false, false, DType::bf16)),
      product("conv28", 32, 10, 131072, false, true, DType::bf16),
      to_f32(product("conv28", 131072, 32, 10, true, false, DType::bf16)),
      elementwise(graph::ElementwiseCode::relu_grad, 4194304, DType::bf16),
      {"conv28/reduce_sum_bf16",
       ops::find_op("reduce_sum"),
       {{DType::bf16, {32, 64, 64, 32}}},
       {{"axes", std::vector<std::int64_t>{0, 1, 2}},
        {"out", std::string("f32")}}},
      // The range beyond.
      product("wide", 256, 256, 256, false, false),
      product("wide", 256, 256, 256, false, true),
      product("wide", 128, 1024, 1024, false, true),
      product("wide", 1024, 1024, 1024, false, false),
      product("wide", 256, 256, 256, false, false, DType::f64),
      product("wide", 1024, 1024, 1024, false, false, DType::f64),
      update("wide", "sgd", 2, 128000),
      update("wide", "sgd_momentum", 3, 128000),
      update("wide", "adamw", 4, 128000),
      update("wide", "adam", 4, 128000, DType::f64),
      update("wide", "adam", 4, 8000000),
      fused(1, 10),
      fused(32, 128),
      fused(1000, 1000),
  };
  for (Case& layer : convolution_cases()) all.push_back(std::move(layer));
  for (int code = 0; code < graph::kElementwiseCodes; ++code) {
    const auto one = static_cast<graph::ElementwiseCode>(code);
    if (graph::arity_of(one) == 0) continue;
    all.push_back(elementwise(one, 16384));
    all.push_back(elementwise(one, 16384, DType::f64));
  }
  add_attention(all);
  return all;
}

void run(benchmark::State& state, const Case& one, int thread_count,
         std::size_t choice) {
  ComputeThreads threads(thread_count);
  threads.warm_up();
  auto kernel =
      BareKernel::make(threads, *one.op, one.inputs, one.attrs, choice);
  if (!kernel) {
    state.SkipWithError(kernel.error().message.c_str());
    return;
  }
  bool failed = false;
  threads.enter([&] {
    for (auto _ : state) {
      failed = failed || kernel->launch() != ops::LaunchStatus::ok;
    }
  });
  if (failed) state.SkipWithError("launch failed");
  const auto launches = static_cast<double>(state.iterations());
  state.counters["flops"] = benchmark::Counter(kernel->cost().flops * launches,
                                               benchmark::Counter::kIsRate);
  state.counters["bytes"] = benchmark::Counter(kernel->cost().bytes * launches,
                                               benchmark::Counter::kIsRate);
  state.counters["estimate_us"] = kernel->candidate().seconds * 1e6;
  state.SetLabel(kernel->candidate().name);
}

void register_all() {
  const int most =
      std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  for (const Case& one : cases()) {
    for (int threads = 1; threads <= most; threads *= 2) {
      ComputeThreads counting(threads);
      const std::size_t choices =
          BareKernel::choices(counting, *one.op, one.inputs, one.attrs);
      for (std::size_t choice = 0; choice < choices; ++choice) {
        benchmark::RegisterBenchmark(
            fmt::format("{}/t{}/choice:{}", one.name, threads, choice).c_str(),
            [one, threads, choice](benchmark::State& state) {
              run(state, one, threads, choice);
            })
            ->Unit(benchmark::kMicrosecond)
            ->UseRealTime()
            ->MinTime(0.1);
      }
    }
  }
}

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  plimsoll::bench::register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
