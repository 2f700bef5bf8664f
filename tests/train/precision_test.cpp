// Mixed precision: f32 parameters, bf16 or f16 between them and the loss.
#include "train/precision.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "device/shipped_profiles.h"
#include "plimsoll/plimsoll.h"
#include "train/calibration.h"
#include "train/planned_job.h"
#include "train/remedies.h"
#include "train/report.h"

namespace plimsoll::train::testing {
namespace {

// Targets that an MLP can learn, with normal inputs times `size`.
struct Problem {
  std::vector<float> x, y;

  explicit Problem(std::int64_t examples, float size = 1) {
    std::mt19937_64 dice(11);
    std::normal_distribution<float> normal;
    for (std::int64_t i = 0; i < examples; ++i) {
      const std::size_t at = x.size();
      for (int j = 0; j < 12; ++j) x.push_back(size * normal(dice));
      y.push_back(std::tanh(x[at] - x[at + 1]) + 0.5F * std::sin(x[at + 2]));
    }
  }
  data::Dataset set(std::int64_t batch) const {
    return data::from_arrays(x.data(), {12}, y.data(), {},
                             static_cast<std::int64_t>(y.size()))
        .batch(batch);
  }
};

std::vector<Layer> mlp() {
  return {Dense(48, gelu), LayerNormalization(), Dropout(0.1),
          Dense(32, relu), BatchNormalization(), Dense(1)};
}

FitHistory learn(Model& model, Session& session, const std::string& precision,
                 const Optimizer& optimizer, const data::Dataset& data,
                 std::int64_t epochs) {
  model.compile(session, {.optimizer = optimizer,
                          .loss = mean_squared_error,
                          .precision = precision});
  return model.fit(data, {.epochs = epochs});
}

TEST(MixedPrecision, LearnsAsF32Does) {
  const Problem problem(500);
  for (const Optimizer& optimizer :
       {Optimizer(Adam{.learning_rate = 0.01}),
        Optimizer(SGD{.learning_rate = 0.05, .momentum = 0.9}),
        Optimizer(AdamW{.learning_rate = 0.01}),
        Optimizer(RMSprop{.learning_rate = 0.003, .centered = true}),
        Optimizer(Adagrad{.learning_rate = 0.05})}) {
    std::map<std::string, double> loss;
    for (const char* precision : {"f32", "bf16", "f16"}) {
      Session session({.host = "1GiB", .threads = 2});
      Sequential model(mlp());
      // 50 steps and more.
      const FitHistory history =
          learn(model, session, precision, optimizer, problem.set(50), 6);
      EXPECT_EQ(history.forecast_host_bytes, history.measured_host_bytes);
      loss[precision] = history.loss.back();
      // Weights are f32 whatever is computed in.
      EXPECT_EQ(model.weights("dense_1/kernel").size(), 12u * 48u);
      const Evaluation seen = model.evaluate(problem.set(50));
      EXPECT_TRUE(std::isfinite(seen.loss)) << precision;
      EXPECT_EQ(model.predict(problem.set(50)).size(), 500u);
    }
    EXPECT_LT(loss["f32"], 0.5);
    EXPECT_NEAR(loss["bf16"], loss["f32"], 0.05 * loss["f32"]);
    EXPECT_NEAR(loss["f16"], loss["f32"], 0.03 * loss["f32"]);
  }
}

TEST(MixedPrecision, ClassesAreToldApart) {
  std::vector<float> x;
  std::vector<float> y;
  std::mt19937_64 dice(5);
  std::normal_distribution<float> normal;
  for (int i = 0; i < 600; ++i) {
    y.push_back(static_cast<float>(i % 3));
    for (int j = 0; j < 4; ++j) {
      x.push_back(0.4F * normal(dice) + (j == i % 3 ? 2.0F : 0.0F));
    }
  }
  for (const char* precision : {"bf16", "f16"}) {
    Session session({.host = "1GiB", .threads = 2});
    Sequential model{Dense(16, relu), Dense(3, softmax)};
    model.compile(session, {.optimizer = Adam{.learning_rate = 0.01},
                            .loss = sparse_categorical_crossentropy,
                            .metrics = {"accuracy"},
                            .precision = precision});
    const FitHistory history = model.fit(
        data::from_arrays(x.data(), {4}, y.data(), {}, 600).shuffle().batch(20),
        {.epochs = 20});
    EXPECT_GT(history.metrics.at("accuracy").back(), 0.97) << precision;
    const auto shares = model.predict(
        data::from_arrays(x.data(), {4}, y.data(), {}, 600).batch(20));
    EXPECT_NEAR(shares[0] + shares[1] + shares[2], 1, 1e-5) << precision;
  }
}

// Outputs of so many thousands that scaled gradients leave f16.
TEST(MixedPrecision, StepsThatOverflowAreSkippedAndTheScaleHalves) {
  const Problem problem(64, 8);
  std::vector<float> far = problem.y;
  for (float& value : far) value *= 3000;
  Session session({.host = "1GiB", .threads = 2});
  Sequential model{Dense(16), Dense(1)};
  model.compile(session, {.optimizer = SGD{.learning_rate = 1e-6},
                          .loss = mean_squared_error,
                          .precision = "f16"});
  const auto data =
      data::from_arrays(problem.x.data(), {12}, far.data(), {}, 64).batch(64);
  const auto scale = [&] { return model.weights("loss_scale").at(0); };

  model.fit(data, {.epochs = 1});
  const auto kernel = model.weights("dense_1/kernel");
  EXPECT_EQ(scale(), 0x1p14);  // one step, and it was skipped
  model.fit(data, {.epochs = 1});
  EXPECT_EQ(scale(), 0x1p13);
  EXPECT_EQ(model.weights("dense_1/kernel"), kernel);

  // It recovers: the scale stays and the weights move.
  const FitHistory history = model.fit(data, {.epochs = 30});
  const double settled = scale();
  EXPECT_LT(settled, 0x1p13);
  EXPECT_GT(settled, 1);
  EXPECT_NE(model.weights("dense_1/kernel"), kernel);
  for (const double value : model.weights("dense_1/kernel")) {
    EXPECT_TRUE(std::isfinite(value));
  }
  EXPECT_TRUE(std::isfinite(history.loss.back()));
  EXPECT_LT(history.loss.back(), history.loss.front());
}

// `width` units in `layers` layers of one kind after the other.
JobSpec wide_job(std::int64_t width, int layers, DType precision) {
  JobSpec job;
  job.model.input = {64};
  LayerSpec layer;
  layer.type = "dense";
  layer.units = width;
  layer.activation = "gelu";
  job.model.layers.assign(static_cast<std::size_t>(layers), layer);
  layer.units = 1;
  layer.activation = "sigmoid";
  job.model.layers.push_back(layer);
  job.data.source.name = "random";
  job.data.source.options = {{"examples", std::int64_t{20000}},
                             {"features", std::vector<std::int64_t>{64}},
                             {"labels", std::string("binary")}};
  job.data.pipeline = data::default_pipeline();
  job.train.batch = 4096;
  job.train.loss = "binary_crossentropy";
  job.train.precision = precision;
  return job;
}

StepGraphs graphs_of(const JobSpec& job) {
  auto made = build_step_graphs(job.model, job.train, Shape{}, "cpu");
  EXPECT_TRUE(made.ok()) << made.error().message;
  return *std::move(made);
}

DType output_of(const graph::Graph& graph, std::string_view layer,
                std::string_view op) {
  for (const graph::Node& node : graph.nodes) {
    if (node.name == layer && node.op->name == op &&
        node.phase == graph::Phase::forward) {
      return graph.type(node.outputs[0]).dtype;
    }
  }
  ADD_FAILURE() << layer << " has no " << op << "\n" << graph.to_string();
  return DType::boolean;
}

int count(const graph::Graph& graph, std::string_view op) {
  int found = 0;
  for (const graph::Node& node : graph.nodes) found += node.op->name == op;
  return found;
}

TEST(MixedPrecision, ALayerMayComputeInAnotherType) {
  JobSpec job = wide_job(32, 3, DType::bf16);
  job.model.layers[1].precision = "f32";
  const graph::Graph graph = graphs_of(job).train;
  EXPECT_EQ(output_of(graph, "dense_1", "matmul"), DType::bf16);
  EXPECT_EQ(output_of(graph, "dense_2", "matmul"), DType::f32);
  EXPECT_EQ(output_of(graph, "dense_3", "matmul"), DType::bf16);
  // The last one goes to the loss.
  EXPECT_EQ(output_of(graph, "dense_4", "matmul"), DType::f32);
  for (const graph::State& state : graph.states) {
    const DType dtype = graph.type(state.value).dtype;
    EXPECT_TRUE(dtype == DType::f32 || state.role == graph::Role::metric ||
                dtype == DType::i64)
        << state.name << " is " << name_of(dtype);
  }
  job.model.layers[1].precision = "f64";
  const auto refused = build_step_graphs(job.model, job.train, Shape{}, "cpu");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("dense_2"), std::string::npos);
  EXPECT_NE(refused.error().message.find("--precision f64"), std::string::npos);
}

TEST(MixedPrecision, AParameterIsCastOnceAndItsGradientIsNot) {
  const graph::Graph graph = graphs_of(wide_job(32, 3, DType::bf16)).train;
  // Kernels of four layers and biases of three: the last layer's is added in
  // f32. What features, activations and gradients need is part of products or
  // chains.
  EXPECT_EQ(count(graph, "cast"), 7) << graph.to_string();
  EXPECT_EQ(count(graph, "all_finite"), 0);
  for (const graph::Node& node : graph.nodes) {
    if (node.op->name != "adam") continue;
    const graph::NodeId made = graph.value(node.inputs[1]).producer;
    EXPECT_NE(graph.node(made).op->name, "cast") << node.name;
  }
}

TEST(MixedPrecision, OnlyF16IsScaled) {
  JobSpec job = wide_job(32, 3, DType::f32);
  EXPECT_EQ(count(graphs_of(job).train, "scale_step"), 0);
  job.model.layers[0].precision = "f16";
  EXPECT_TRUE(needs_loss_scale(job.model, job.train.precision));
  const graph::Graph graph = graphs_of(job).train;
  EXPECT_EQ(count(graph, "scale_step"), 1);
  EXPECT_EQ(count(graph, "all_finite"), 8);
}

std::int64_t activation_bytes(const JobSpec& job, Machine& machine) {
  const auto planned = plan_programs(job, *open_data(job, 2), machine);
  EXPECT_TRUE(planned.ok()) << planned.error().message;
  return planned->plan.host
      .accounts[static_cast<std::size_t>(Purpose::activations)];
}

TEST(MixedPrecision, WideActivationsTakeHalfTheMemory) {
  Machine machine(*cpu_profile(2, ""));
  const auto f32 = activation_bytes(wide_job(1024, 6, DType::f32), machine);
  for (const DType half : {DType::bf16, DType::f16}) {
    const auto bytes = activation_bytes(wide_job(1024, 6, half), machine);
    EXPECT_LT(bytes, f32 * 65 / 100) << name_of(half);
  }
}

// Home and host, with every kind of layer that there is to scale and skip.
TEST(MixedPrecision, IsPlannedForADeviceAndTheCpuBesideIt) {
  Machine machine(*cpu_profile(2, ""), *shipped_profile("h200"),
                  ops::CudaSettings{});
  JobSpec job = wide_job(512, 2, DType::f32);
  LayerSpec norm, dropout, embedding, flatten;
  norm.type = "batch_normalization";
  dropout.type = "dropout";
  dropout.rate = 0.1;
  embedding.type = "embedding";
  embedding.input_dim = 100;
  embedding.output_dim = 8;
  flatten.type = "flatten";
  auto& layers = job.model.layers;
  layers[1].device = "cpu";
  layers.insert(layers.begin() + 1, {norm, dropout});
  layers.insert(layers.begin(), {embedding, flatten});
  std::map<DType, std::int64_t> bytes;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    job.train.precision = dtype;
    const auto planned = plan_programs(job, *open_data(job, 2), machine);
    ASSERT_TRUE(planned.ok()) << planned.error().message;
    bytes[dtype] = planned->plan.device->pool_bytes;
    for (const plan::StateNeed& state : planned->needs.states) {
      const DType kept = state.type.dtype;
      EXPECT_TRUE(kept != DType::bf16 && kept != DType::f16) << state.name;
    }
  }
  EXPECT_LT(bytes[DType::bf16], bytes[DType::f32]);
  EXPECT_LT(bytes[DType::f16], bytes[DType::f32]);
}

// With a batch normalization that is the library's.
JobSpec normalized_job() {
  JobSpec job = wide_job(1024, 2, DType::bf16);
  LayerSpec norm;
  norm.type = "batch_normalization";
  job.model.layers.insert(job.model.layers.begin() + 1, norm);
  job.train.batch = 2048;
  return job;
}

// Where the library turns out to have no engine for a layer, ours makes it.
TEST(MixedPrecision, LayersThatTheLibraryHasNotAreOurs) {
  Machine machine(*cpu_profile(2, ""), *shipped_profile("h200"),
                  ops::CudaSettings{.library_layers = true});
  const JobSpec job = normalized_job();
  const auto compiled = [&] {
    const auto planned = plan_programs(job, *open_data(job, 2), machine);
    EXPECT_TRUE(planned.ok()) << planned.error().message;
    int found = 0;
    for (const PlannedProgram& program : planned->programs) {
      for (const graph::Instruction& step : program.lowered.instructions) {
        found += ops::uses_compiled_layer(step.kernel) ? 1 : 0;
      }
    }
    return found;
  };
  EXPECT_GT(compiled(), 0);
  machine.set_library_measure(
      [](const std::string& work, const std::string&) -> Result<LibraryCost> {
        if (work.find("batch_norm") == std::string::npos) return LibraryCost();
        return Error{ErrorCode::unsupported, "no engine"};
      });
  EXPECT_EQ(compiled(), 0);
}

// Engines take memory of the device that only running them shows.
TEST(MixedPrecision, WhatEnginesTookWhenRehearsedIsInTheForecast) {
  const DeviceProfile device = *shipped_profile("h200");
  Machine machine(*cpu_profile(2, ""), device,
                  ops::CudaSettings{.library_layers = true});
  const JobSpec job = normalized_job();
  const auto floor_with = [&](std::int64_t device_bytes) {
    machine.set_library_measure([=](const std::string&, const std::string&) {
      return LibraryCost{100 * kMiB, device_bytes};
    });
    const auto planned = plan_programs(job, *open_data(job, 2), machine);
    EXPECT_TRUE(planned.ok()) << planned.error().message;
    return planned->needs.device->runtime_floor_bytes;
  };
  const std::int64_t estimate = device.device_convolution_bytes;
  const std::int64_t least = floor_with(0);
  EXPECT_EQ(floor_with(estimate / 2), least);
  EXPECT_EQ(floor_with(2 * estimate),
            least + estimate + device.granularity_bytes);
}

TEST(MixedPrecision, IsARemedyThatWorks) {
  Machine machine(*cpu_profile(2, ""));
  const JobSpec job = wide_job(1024, 6, DType::f32);
  const JobWeight now = *weigh(job, machine);
  JobSpec half = job;
  half.train.precision = DType::bf16;
  const JobWeight then = *weigh(half, machine);
  ASSERT_LT(then.host_peak_bytes, now.host_peak_bytes);
  const SpaceLimit line{(then.host_peak_bytes + now.host_peak_bytes) / 2, 0};
  const auto found = find_remedies(job, now, {line, {}}, machine);
  ASSERT_TRUE(found.ok()) << found.error().message;
  bool offered = false;
  for (const Remedy& remedy : *found) {
    if (remedy.apply != "--precision bf16") continue;
    offered = true;
    EXPECT_NE(remedy.change.find("rounding"), std::string::npos);
    EXPECT_EQ(remedy.host_bytes_saved,
              now.host_peak_bytes - then.host_peak_bytes);
  }
  EXPECT_TRUE(offered);
  const PlannedJob planned = *plan_programs(half, *open_data(half, 2), machine);
  const PlanReport report =
      report_on(half, planned, {line.budget_bytes, "test"}, {});
  EXPECT_TRUE(report.fits);
  EXPECT_EQ(report.choices.precision, "bf16");
  // The same at every budget: rounding is the remedy's, not the plan's.
  EXPECT_EQ(report.choices.numerics, "bitwise");
}

}  // namespace
}  // namespace plimsoll::train::testing
