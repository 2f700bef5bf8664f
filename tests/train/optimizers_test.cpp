// Optimisers beside Keras, update for update: optimizers/make_vectors.py wrote
// what Keras makes of the same gradients.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/throw_error.h"
#include "graph/passes.h"
#include "ops/standard_ops.h"
#include "ops/update/update.h"
#include "plimsoll/plimsoll.h"
#include "train/calibration.h"
#include "train/initial_state.h"
#include "train/job_file/job_file.h"
#include "train/optimizer.h"
#include "train/planned_step.h"
#include "train/schedule.h"
#include "train/variable_updates.h"

namespace plimsoll::train::testing {
namespace {

using graph::Role;
using graph::ValueId;
using nlohmann::json;
using Numbers = std::vector<double>;

json read_vectors() {
  std::ifstream file(PLIMSOLL_OPTIMIZER_VECTORS);
  return json::parse(file);
}

OptimizerSpec optimizer_of(const std::string& text) {
  const auto job = parse_job(
      "model = { input = [2], layers = [{ type = \"dense\", units = 1 }] }\n"
      "data = { source = { type = \"npy\", features = \"x.npy\", labels = "
      "\"y.npy\" } }\n"
      "train = { loss = \"mean_squared_error\", optimizer = " +
          text + " }\n",
      "job.toml", {});
  EXPECT_TRUE(job) << job.error().message;
  return job ? job->train.optimizer : OptimizerSpec();
}

// Keras makes scheduled rates, and means of Adafactor, in f32.
double tolerance_of(const OptimizerSpec& optimizer) {
  if (!optimizer.schedule.type.empty()) return 1e-6;
  return optimizer.type == "adafactor" ? 1e-7 : 1e-9;
}

// A step whose gradients are inputs.
struct UpdateStep {
  RandomNetwork network;
  std::vector<StartValue> starts;
};

UpdateStep make_step(const OptimizerSpec& optimizer, const json& shapes,
                     DType dtype) {
  graph::Builder b;
  std::vector<Parameter> parameters;
  std::vector<ValueId> gradients;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    std::vector<Dim> dims;
    for (const json& extent : shapes[i]) {
      dims.emplace_back(extent.get<std::int64_t>());
    }
    const graph::TensorType type{dtype, Shape(std::move(dims))};
    Parameter parameter;
    parameter.name = fmt::format("p{}", i);
    parameter.value = b.state(parameter.name, Role::parameter, type);
    parameters.push_back(parameter);
    gradients.push_back(b.input(fmt::format("g{}", i), type));
  }
  b.set_phase(graph::Phase::update);
  const ValueId step = b.state("step", Role::counter, {DType::i64, {}});
  ValueId rate = b.state("rate", Role::counter, {dtype, {}});
  if (!optimizer.schedule.type.empty()) {
    const ValueId scheduled =
        scheduled_rate(b, optimizer.schedule, step, dtype);
    b.assign(rate, scheduled);
    rate = scheduled;
  }
  const ValueId next = ops::increment(b, step);
  UpdateStep made;
  auto starts =
      add_updates(b, optimizer, parameters, gradients, {rate, next, {}});
  EXPECT_TRUE(starts) << starts.error().message;
  if (starts) made.starts = *std::move(starts);
  b.assign(step, next);
  made.network.graph =
      graph::optimize(*std::move(b).finish(), ops::standard_ops());
  return made;
}

class KerasRun {
 public:
  KerasRun(const OptimizerSpec& optimizer, const json& shapes, Machine& machine)
      : made_(make_step(optimizer, shapes, DType::f64)) {
    auto step = prepare_step(made_.network, machine);
    EXPECT_TRUE(step) << step.error().message;
    step_ = *std::move(step);
    const auto& states = made_.network.graph.states;
    for (std::size_t i = 0; i < states.size(); ++i) fill(i, 0);
    fill(index_of("rate"), optimizer.learning_rate);
    for (const StartValue& start : made_.starts) {
      fill(index_of(start.state), start.value);
    }
  }

  std::span<double> state(const std::string& name) {
    return values(index_of(name));
  }
  Numbers read(const std::string& name) {
    const auto found = state(name);
    return {found.begin(), found.end()};
  }
  void run(const std::vector<Numbers>& gradients) {
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      step_->program->bind_input(
          static_cast<int>(i),
          reinterpret_cast<const std::byte*>(gradients[i].data()));
    }
    const Status ran = step_->program->run();
    EXPECT_TRUE(ran.ok());
  }

 private:
  std::size_t index_of(const std::string& name) const {
    const auto& states = made_.network.graph.states;
    for (std::size_t i = 0; i < states.size(); ++i) {
      if (states[i].name == name) return i;
    }
    ADD_FAILURE() << "no state " << name;
    return 0;
  }
  std::span<double> values(std::size_t index) const {
    auto* const at =
        step_->arena.data() + step_->plan.arena.state_offsets[index];
    const auto elements = step_->needs.states[index].type.shape.elements();
    return {reinterpret_cast<double*>(at), static_cast<std::size_t>(elements)};
  }
  // All bytes of a counter and of 0.0 are zero.
  void fill(std::size_t index, double value) const {
    const auto found = values(index);
    std::fill(found.begin(), found.end(), value);
  }

  UpdateStep made_;
  std::unique_ptr<PlannedStep> step_;
};

TEST(Optimizers, UpdateAsKerasDoes) {
  const json vectors = read_vectors();
  const json& shapes = vectors["shapes"];
  Machine machine{*cpu_profile(2, "")};
  ASSERT_GT(vectors["cases"].size(), 5u);
  for (const json& item : vectors["cases"]) {
    const auto text = item["optimizer"].get<std::string>();
    const OptimizerSpec optimizer = optimizer_of(text);
    const double tolerance = tolerance_of(optimizer);
    machine.threads().enter([&] {
      KerasRun run(optimizer, shapes, machine);
      for (std::size_t p = 0; p < shapes.size(); ++p) {
        const auto start = vectors["start"][p].get<Numbers>();
        std::copy(start.begin(), start.end(),
                  run.state(fmt::format("p{}", p)).begin());
      }
      for (std::size_t n = 0; n < vectors["gradients"].size(); ++n) {
        run.run(vectors["gradients"][n].get<std::vector<Numbers>>());
        for (std::size_t p = 0; p < shapes.size(); ++p) {
          const auto wanted = item["updates"][n][p].get<Numbers>();
          const Numbers got = run.read(fmt::format("p{}", p));
          ASSERT_EQ(got.size(), wanted.size());
          for (std::size_t i = 0; i < got.size(); ++i) {
            EXPECT_NEAR(got[i], wanted[i],
                        tolerance * (1 + std::abs(wanted[i])))
                << text << ", update " << n + 1 << ", parameter " << p
                << ", element " << i;
          }
        }
      }
    });
  }
}

// By hand: at once, into memory that somebody looks at, and traced.
enum class Way { at_once, looked_at, traced };

Numbers update_by_hand(const OptimizerSpec& optimizer, const json& vectors,
                       std::size_t p, Way way) {
  Session session({.host = "1GiB", .threads = 1});
  const auto tensor = [&](const json& numbers, std::size_t which) {
    return Tensor::of(numbers.get<Numbers>(),
                      vectors["shapes"][which].get<Extents>());
  };
  VariableUpdates updates(optimizer);
  std::vector<Variable> variables;
  std::vector<runtime::VariablePtr> cells;
  for (std::size_t i = 0; i < vectors["shapes"].size(); ++i) {
    variables.emplace_back(tensor(vectors["start"][i], i));
    cells.push_back(variables.back().cell());
  }
  const auto apply = [&](std::span<const Tensor> gradients) {
    runtime::Values values;
    for (const Tensor& gradient : gradients) values.push_back(gradient.value());
    // An open batch does not fit parameters: such a trace is given up.
    throw_if_error(updates.apply(cells, values));
    return std::vector<Tensor>{};
  };
  FunctionCalls traced({});
  Numbers numbers;
  for (const json& step : vectors["gradients"]) {
    std::vector<Tensor> gradients;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      gradients.push_back(tensor(step[i], i));
    }
    std::vector<Tensor> held;
    if (way == Way::looked_at) {
      for (const Variable& variable : variables) held.push_back(variable);
    }
    const auto before = held.empty() ? Numbers{} : held[p].to_doubles();
    if (way == Way::traced) {
      traced.call(gradients, apply);
    } else {
      apply(gradients);
    }
    if (!held.empty()) {
      EXPECT_EQ(held[p].to_doubles(), before);
    }
    const auto now = variables[p].value().to_doubles();
    numbers.insert(numbers.end(), now.begin(), now.end());
  }
  EXPECT_EQ(traced.traces(), way == Way::traced ? 1 : 0);
  return numbers;
}

TEST(Optimizers, UpdateByHandAsKerasDoes) {
  const json vectors = read_vectors();
  for (const json& item : vectors["cases"]) {
    const auto text = item["optimizer"].get<std::string>();
    const OptimizerSpec optimizer = optimizer_of(text);
    const double tolerance = tolerance_of(optimizer);
    for (std::size_t p = 0; p < vectors["shapes"].size(); ++p) {
      Numbers wanted;
      for (const json& update : item["updates"]) {
        const auto numbers = update[p].get<Numbers>();
        wanted.insert(wanted.end(), numbers.begin(), numbers.end());
      }
      for (const Way way : {Way::at_once, Way::looked_at, Way::traced}) {
        const Numbers got = update_by_hand(optimizer, vectors, p, way);
        ASSERT_EQ(got.size(), wanted.size());
        for (std::size_t i = 0; i < got.size(); ++i) {
          EXPECT_NEAR(got[i], wanted[i], tolerance * (1 + std::abs(wanted[i])))
              << text << ", way " << static_cast<int>(way) << ", parameter "
              << p << ", element " << i;
        }
      }
    }
  }
}

// Of a relu network's kernel: a unit and an input that are never on.
TEST(Optimizers, AdafactorKeepsWhereNoGradientIsInItsRowAndColumn) {
  Session session({.host = "1GiB", .threads = 1});
  for (const float live : {1e-3F, 1.0F, 1e10F}) {
    const Variable variable(Tensor::of(std::vector<float>{1, 2, 3, 4}, {2, 2}));
    const std::vector<runtime::VariablePtr> cells{variable.cell()};
    const runtime::Values gradients{
        Tensor::of(std::vector<float>{0, 0, 0, live}, {2, 2}).value()};
    VariableUpdates updates(optimizer_of("{ type = \"adafactor\" }"));
    throw_if_error(updates.apply(cells, gradients));
    const auto now = variable.value().to_doubles();
    EXPECT_EQ(Numbers(now.begin(), now.begin() + 3), (Numbers{1, 2, 3}));
    EXPECT_LT(now[3], 4) << live;
    EXPECT_GT(now[3], 3.9) << live;
  }
}

// One example, so that every step is the same batch.
const float kX[] = {0.5F, -1.25F, 2.0F};
const float kY[] = {0.75F};

data::Dataset one_example() {
  return data::from_arrays(kX, {3}, kY, {}, 1).batch(1);
}

TEST(Optimizers, StatesStartWhereKerasStartsThem) {
  Session session({.host = "1GiB", .threads = 1});
  Sequential model{Dense(1)};
  model.compile(session,
                {.optimizer = Adagrad{.initial_accumulator_value = 0.3},
                 .loss = mean_squared_error});
  const double y = model.predict(one_example()).at(0);
  model.fit(one_example(), {.epochs = 1});
  const auto sums = model.weights("dense_1/kernel/accumulator");
  for (std::size_t i = 0; i < 3; ++i) {
    const double g = 2 * (y - double{kY[0]}) * double{kX[i]};
    EXPECT_NEAR(sums.at(i), 0.3 + g * g, 1e-5);
  }
}

TEST(Optimizers, ValuesOfTheApiAreHeldToTheJobFilesRanges) {
  const auto complaint = [](const Optimizer& optimizer) {
    Session session({.host = "1GiB", .threads = 1});
    Sequential model{Dense(1)};
    try {
      model.compile(session,
                    {.optimizer = optimizer, .loss = mean_squared_error});
      model.fit(one_example(), {.epochs = 1});
    } catch (const Exception& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(complaint(RMSprop{.rho = 1.5})
                .find("optimizer rmsprop: rho must be a number"),
            std::string::npos);
  EXPECT_NE(complaint(Adagrad{.epsilon = 0})
                .find("optimizer adagrad: epsilon must be a number above 0"),
            std::string::npos);
  EXPECT_EQ(complaint(Adagrad{}), "");
}

}  // namespace
}  // namespace plimsoll::train::testing
