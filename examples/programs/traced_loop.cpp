// The loop of tape_loop with its step as one traced function: loss, gradients
// and update are planned as a graph, so that what a step takes is known before
// it is taken, and goes back when the step is done.
#include <iostream>

#include "compare.h"
#include "loop_sizes.h"
#include "perceptron.h"

namespace {

namespace pl = plimsoll;

// Everything that a loop meets, kept "to look at later".
example::Outcome keep_all(const example::Setting& setting) {
  const auto [batch, hidden, steps] = example::loop_sizes(setting);
  const pl::Session session;
  example::Perceptron model(example::kLoopInputs, hidden);
  const example::Examples examples(batch, example::kLoopInputs, 3);
  std::int64_t expected = 0;
  std::vector<std::vector<pl::Tensor>> kept;
  double last = 0;
  for (int step = 0; step < steps; ++step) {
    pl::GradientTape tape;
    for (const pl::Tensor& weight : model.weights) tape.watch(weight);
    const pl::Tensor hidden_units =
        pl::tanh(pl::matmul(examples.x, model.weights[0]) + model.weights[1]);
    const pl::Tensor predictions =
        pl::matmul(hidden_units, model.weights[2]) + model.weights[3];
    const pl::Tensor loss = pl::mean_squared_error(examples.y, predictions);
    const auto gradients = tape.gradient(loss, model.weights);
    model.descend(gradients, example::kLoopRate);
    kept.push_back({hidden_units, predictions, loss});
    last = loss.item();
    if (step > 0) continue;
    const std::int64_t bytes = hidden_units.bytes() + predictions.bytes();
    expected = session.host_held_bytes() + bytes * (steps - 1);
  }
  std::cout << session.explain();
  return {expected, last};
}

example::Outcome traced(const example::Setting& setting) {
  const auto [batch, hidden, steps] = example::loop_sizes(setting);
  const pl::Session session({.host = setting.small ? "64MiB" : "192MiB"});
  example::Perceptron model(example::kLoopInputs, hidden);
  std::vector<pl::Variable> weights;
  for (pl::Tensor& weight : model.weights) {
    weights.emplace_back(std::move(weight), "weight");
  }
  auto step = pl::function(
      [&](const pl::Tensor& x, const pl::Tensor& y) {
        pl::GradientTape tape;
        model.weights.assign(weights.begin(), weights.end());
        const pl::Tensor loss = model.loss(x, y);
        const auto gradients = tape.gradient(loss, weights);
        for (std::size_t i = 0; i < weights.size(); ++i) {
          weights[i].assign_sub(example::kLoopRate * gradients[i]);
        }
        return loss;
      },
      {.name = "step"});
  const example::Examples examples(batch, example::kLoopInputs, 3);
  const std::int64_t planned = step.planned_bytes(examples.x, examples.y);
  std::cout << "planned for a step: " << planned << " bytes\n";
  const std::int64_t expected = session.host_held_bytes() + planned;
  double last = 0;
  for (int i = 0; i < steps; ++i) {
    last = step(examples.x, examples.y).item();
  }
  std::cout << step.traces() << " trace, " << steps << " steps\n"
            << session.explain();
  return {expected, last};
}

}  // namespace

int main(int argc, char** argv) {
  return example::compare(
      argc, argv,
      {.question =
           "What will a step of my loop take, and does it give it back?",
       .parts = {{"keep-all", example::Role::problem,
                  "activations of every step kept to look at later", keep_all},
                 {"traced", example::Role::cure,
                  "the step as one traced function", traced}},
       .line_bytes = 192 << 20,
       .small_line_bytes = 64 << 20,
       .tolerance = 1e-4});
}
