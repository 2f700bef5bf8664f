// A training step of convolutions: weights are packed and unpacked by
// instructions of the plan, which holds as any other does.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/autodiff.h"
#include "graph/passes.h"
#include "ops/convolution/convolution.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reduction/reduction.h"
#include "ops/standard_ops.h"
#include "ops/update/update.h"
#include "runtime/checking.h"
#include "train/calibration.h"
#include "train/planned_step.h"

namespace plimsoll::train::testing {
namespace {

using graph::Role;
using graph::TensorType;
using graph::ValueId;

// Two layers of 3 x 3 with bias and relu, and their updates.
RandomNetwork convolutions() {
  graph::Builder b;
  const TensorType scalar{DType::f32, {}};
  ValueId x = b.input("x", {DType::f32, {Dim::batch(), 6, 7, 16}});
  std::vector<ValueId> parameters;
  for (const char* layer : {"first", "second"}) {
    b.set_scope(layer);
    const ValueId w = b.state(std::string(layer) + "/w", Role::parameter,
                              {DType::f32, {16, 3, 3, 16}});
    const ValueId bias = b.state(std::string(layer) + "/bias", Role::parameter,
                                 {DType::f32, {16}});
    const auto settings = ops::same_padding({}, 6, 7, 3, 3);
    x = ops::relu(b, ops::add(b, ops::conv2d(b, x, w, settings), bias));
    parameters.insert(parameters.end(), {w, bias});
  }
  const ValueId loss = ops::reduce_sum(b, ops::square(b, x), {});
  const auto gradients = graph::add_gradients(
      b, loss, ops::constant(b, scalar, 1), parameters, ops::standard_ops());
  EXPECT_TRUE(gradients.ok());
  b.set_phase(graph::Phase::update);
  const ValueId rate = b.state("rate", Role::counter, scalar);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    b.assign(parameters[i], ops::sgd(b, parameters[i], (*gradients)[i], rate));
  }
  b.output(loss);
  RandomNetwork network;
  network.batch = 2;
  network.graph = graph::optimize(*std::move(b).finish(), ops::standard_ops());
  return network;
}

TEST(PackedStep, IsPlannedAndRunsInsideItsPlan) {
  Machine machine{*cpu_profile(2, "")};
  machine.threads().enter([&] {
    auto made = prepare_step(convolutions(), machine);
    ASSERT_TRUE(made.ok()) << made.error().message;
    PlannedStep& step = **made;
    const auto count = [&](std::string_view op) {
      return std::count_if(step.lowered.instructions.begin(),
                           step.lowered.instructions.end(),
                           [&](const auto& one) { return one.op->name == op; });
    };
    // Bias and relu are part of the convolutions.
    EXPECT_EQ(count("conv2d"), 2);
    const bool by_library = std::any_of(
        step.lowered.instructions.begin(), step.lowered.instructions.end(),
        [](const auto& one) { return !one.kernel.input_layouts.empty(); });
    if (by_library) {
      EXPECT_GE(count("pack"), 2);
    }
    const Status ran = step.program->run();
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    EXPECT_EQ(step.program->recorded_height_bytes(),
              step.plan.programs[0].home.height_bytes);
    const Status checked = runtime::run_checked(*step.program);
    EXPECT_TRUE(checked.ok()) << checked.error().message;
  });
}

}  // namespace
}  // namespace plimsoll::train::testing
