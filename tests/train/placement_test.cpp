// Layers on the CPU beside a device: the same numbers, each byte in its place.
// The device's part runs here, too, in memory that stands for the device's.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "base/hash.h"
#include "base/units.h"
#include "memory/arena.h"
#include "ops/standard_ops.h"
#include "plan/validator.h"
#include "runtime/program.h"
#include "train/calibration.h"
#include "train/machine.h"
#include "train/step_graphs.h"

namespace plimsoll::train {
namespace {

constexpr std::int64_t kBatch = 12;

LayerSpec dense(std::int64_t units, std::string activation,
                std::string device = "") {
  LayerSpec layer;
  layer.type = "dense";
  layer.units = units;
  layer.activation = std::move(activation);
  layer.device = std::move(device);
  return layer;
}

ModelSpec model_on(const std::vector<std::string>& devices) {
  ModelSpec model;
  model.input = {20};
  LayerSpec dropout;
  dropout.type = "dropout";
  dropout.rate = 0.25;
  dropout.device = devices[1];
  LayerSpec flatten;
  flatten.type = "flatten";
  model.layers = {flatten, dense(33, "relu", devices[0]), dropout,
                  dense(17, "tanh", devices[2]),
                  dense(3, "softmax", devices[3])};
  return model;
}

// A train step whose home is memory of its own.
class Stepper {
 public:
  Stepper(const ModelSpec& model, const std::string& optimizer,
          Machine& machine)
      : machine_(machine) {
    TrainSpec train;
    train.loss = "sparse_categorical_crossentropy";
    train.optimizer.type = optimizer;
    train.metrics = {"accuracy"};
    auto made = build_step_graphs(model, train, Shape{}, "cuda:0");
    EXPECT_TRUE(made.ok()) << made.error().message;
    graph_ = std::move(made->train);
    graph::PlaceCatalogs catalogs = machine.kernels();
    catalogs.host = &machine.kernels();
    catalogs.to_host_bytes_per_second = 1e9;
    catalogs.from_host_bytes_per_second = 1e9;
    auto lowered = graph::lower(graph_, kBatch, catalogs, ops::standard_ops());
    EXPECT_TRUE(lowered.ok()) << lowered.error().message;
    lowered_ = *std::move(lowered);
    lay_out();
    commit();
  }

  void run() {
    for (std::size_t i = 0; i < program_->launches().size(); ++i) {
      const runtime::Launch& launch = program_->launches()[i];
      const auto index = static_cast<std::size_t>(launch.instruction);
      const graph::Instruction& step = lowered_.instructions[index];
      if (step.runs_on_host()) {
        ASSERT_TRUE(program_->run(i, i + 1).ok());
      } else if (step.transfer) {
        std::memcpy(launch.outputs[0], launch.inputs[0],
                    static_cast<std::size_t>(step.output_types[0].bytes()));
      } else {
        ASSERT_EQ(home_kernels_[index]->launch(
                      {launch.inputs, launch.outputs, launch.scratch}),
                  ops::LaunchStatus::ok);
      }
    }
  }

  std::span<std::byte> state(std::size_t index) {
    const plan::StateNeed& need = needs_.states[index];
    std::byte* const at =
        need.place == graph::Place::home
            ? home_.data() + plan_.arena.state_offsets[index]
            : host_.data() + plan_.host_arena.state_offsets[index];
    return {at, static_cast<std::size_t>(need.type.bytes())};
  }

  std::map<std::string, std::string> states() {
    std::map<std::string, std::string> all;
    for (std::size_t i = 0; i < needs_.states.size(); ++i) {
      const auto bytes = state(i);
      all[needs_.states[i].name] = std::string(
          reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return all;
  }

  const plan::JobPlan& plan() const { return plan_; }
  const plan::JobNeeds& needs() const { return needs_; }
  const graph::LoweredGraph& lowered() const { return lowered_; }
  runtime::Program& program() { return *program_; }

 private:
  void lay_out() {
    constexpr std::int64_t kAlignment = 256;
    auto program = plan::plan_program(lowered_, "train", {nullptr, kAlignment});
    ASSERT_TRUE(program.ok()) << program.error().message;
    const Status valid = plan::validate(lowered_, *program, kAlignment);
    ASSERT_TRUE(valid.ok()) << valid.error().message;
    for (const graph::State& state : graph_.states) {
      needs_.states.push_back(
          {state.name, state.role, graph_.type(state.value), state.place});
    }
    needs_.device.emplace();
    auto plan = plan::lay_out(needs_, {*std::move(program)}, "test");
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    plan_ = *std::move(plan);
  }

  void commit() {
    const auto arena = [&](std::int64_t bytes) {
      const Holding all{"test", Purpose::user, Space::host, bytes};
      return *Arena::commit(machine_.host(), machine_.ledger(), {&all, 1});
    };
    home_ = arena(plan_.arena.bytes);
    host_ = arena(plan_.host_arena.bytes);
    runtime::ProgramMemory memory{home_.data(), &plan_.arena, {}, 256};
    for (std::size_t i = 0; i < needs_.states.size(); ++i) {
      memory.job_state.push_back(static_cast<int>(i));
    }
    memory.host_arena = host_.data();
    memory.host_layout = &plan_.host_arena;
    auto placed = runtime::Program::place(
        lowered_, plan_.programs[0], std::move(memory), machine_.kernels());
    ASSERT_TRUE(placed.ok()) << placed.error().message;
    program_ = *std::move(placed);
    for (const graph::Instruction& step : lowered_.instructions) {
      home_kernels_.emplace_back();
      if (step.transfer || step.runs_on_host()) continue;
      home_kernels_.back() = *machine_.kernels().create(
          {step.op, step.input_types, step.output_types, &step.attrs},
          step.kernel);
    }
    fill();
  }

  // The same for the same name, wherever it lies.
  void fill() {
    for (std::size_t i = 0; i < needs_.states.size(); ++i) {
      const plan::StateNeed& need = needs_.states[i];
      if (need.type.dtype != DType::f32 ||
          need.role == graph::Role::optimizer) {
        continue;
      }
      auto* values = reinterpret_cast<float*>(state(i).data());
      for (std::int64_t k = 0; k < need.type.shape.elements(); ++k) {
        values[k] = static_cast<float>(
            static_cast<double>(stable_hash(need.name + std::to_string(k)) %
                                1000) /
                5000 -
            0.1);
      }
      if (need.name == kLearningRate) values[0] = 0.01f;
      if (need.name == kInverseExamples) values[0] = 1.0f / kBatch;
    }
    for (std::size_t i = 0; i < features_.size(); ++i) {
      features_[i] = static_cast<float>(i % 7) / 7;
    }
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      labels_[i] = static_cast<std::int32_t>(i % 3);
    }
    for (const graph::Place place : {graph::Place::home, graph::Place::host}) {
      program_->bind_input(0, features_.data(), place);
      program_->bind_input(1, labels_.data(), place);
    }
  }

  Machine& machine_;
  graph::Graph graph_;
  graph::LoweredGraph lowered_;
  plan::JobNeeds needs_;
  plan::JobPlan plan_;
  Arena home_, host_;
  std::unique_ptr<runtime::Program> program_;
  std::vector<std::unique_ptr<ops::Kernel>> home_kernels_;
  std::vector<float> features_ = std::vector<float>(kBatch * 20);
  std::vector<std::int32_t> labels_ = std::vector<std::int32_t>(kBatch);
};

class Placement : public ::testing::Test {
 protected:
  template <class Body>
  void inside(const Body& body) {
    machine_.threads().enter(body);
  }
  Machine machine_{*cpu_profile(2, "")};
};

TEST_F(Placement, TheSameBitsWhereverLayersRun) {
  inside([&] {
    for (const std::string optimizer : {"adam", "sgd"}) {
      Stepper at_home(model_on({"", "", "", ""}), optimizer, machine_);
      EXPECT_FALSE(at_home.lowered().is_mixed());
      for (int i = 0; i < 3; ++i) at_home.run();
      const std::vector<std::vector<std::string>> placements = {
          {"cpu", "", "", ""},       {"", "cpu", "", ""},
          {"", "", "", "cpu"},       {"cpu", "cuda:0", "cpu", "cuda:0"},
          {"cpu", "cpu", "", "cpu"}, {"cpu", "cpu", "cpu", "cpu"}};
      for (const auto& devices : placements) {
        SCOPED_TRACE(optimizer + " " + devices[0] + "," + devices[1] + "," +
                     devices[2] + "," + devices[3]);
        Stepper mixed(model_on(devices), optimizer, machine_);
        EXPECT_TRUE(mixed.lowered().is_mixed());
        for (int i = 0; i < 3; ++i) mixed.run();
        EXPECT_EQ(mixed.states(), at_home.states());
      }
    }
  });
}

TEST_F(Placement, StatesAndBuffersLieWithTheirLayer) {
  inside([&] {
    Stepper step(model_on({"cpu", "", "", ""}), "adam", machine_);
    const plan::JobPlan& plan = step.plan();
    for (std::size_t i = 0; i < step.needs().states.size(); ++i) {
      const std::string& name = step.needs().states[i].name;
      const bool on_host = name.starts_with("dense_1/");
      EXPECT_EQ(plan.host_arena.state_offsets[i] >= 0, on_host) << name;
      EXPECT_EQ(plan.arena.state_offsets[i] >= 0, !on_host) << name;
    }
    const auto of = [](const plan::SpaceForecast& space, Purpose purpose) {
      return space.accounts[static_cast<std::size_t>(purpose)];
    };
    // 20 * 33 and 33 floats, aligned.
    EXPECT_EQ(of(plan.host, Purpose::optimizer), 2 * (2688 + 192));
    EXPECT_GT(of(plan.host, Purpose::gradients), 0);
    EXPECT_EQ(plan::total(plan.host.accounts), plan.host.peak_bytes);
    EXPECT_EQ(plan::total(plan.device->accounts), plan.device->peak_bytes);
    // The launches reach as far as planned, at both places.
    step.program().record_ranges();
    const plan::ProgramPlan& program = plan.programs[0];
    EXPECT_EQ(step.program().recorded_height_bytes(graph::Place::home),
              program.home.height_bytes);
    EXPECT_EQ(step.program().recorded_height_bytes(graph::Place::host),
              program.host.height_bytes);
    EXPECT_GT(program.host.height_bytes, 0);
  });
}

TEST_F(Placement, ValuesCrossOnce) {
  inside([&] {
    // The second layer's forward pass and its weights' gradient both read what
    // the first has made.
    Stepper step(model_on({"cpu", "cpu", "", ""}), "sgd", machine_);
    int to_device = 0;
    for (const graph::Instruction& made : step.lowered().instructions) {
      to_device += made.transfer && made.place == graph::Place::home;
    }
    EXPECT_EQ(to_device, 1);
  });
}

TEST(PlacementErrors, NameTheLayerAndTheDevice) {
  TrainSpec train;
  train.loss = "sparse_categorical_crossentropy";
  const auto said = [&](const std::string& device, const std::string& home) {
    const auto made =
        build_step_graphs(model_on({"", "", device, ""}), train, Shape{}, home);
    EXPECT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, ErrorCode::bad_input);
    return made.error().message;
  };
  EXPECT_EQ(said("cuda:0", "cpu"),
            "dense_2: is placed on cuda:0, but the job runs on the CPU alone: "
            "give it the device, as in --device cuda:0");
  EXPECT_EQ(said("cuda:1", "cuda:0"),
            "dense_2: is placed on cuda:1, but the job runs on cuda:0: one "
            "process drives one device, and the CPU beside it");
}

}  // namespace
}  // namespace plimsoll::train
