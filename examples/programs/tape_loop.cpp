// A training loop by hand. Where one tape stands around the loop and the losses
// are kept as tensors, everything that any step computed stays; with a tape a
// step and losses as numbers, nothing does.
#include <iostream>

#include "compare.h"
#include "loop_sizes.h"
#include "perceptron.h"

namespace {

namespace pl = plimsoll;

example::Outcome one_tape(const example::Setting& setting) {
  const auto [batch, hidden, steps] = example::loop_sizes(setting);
  const pl::Session session;
  example::Perceptron model(example::kLoopInputs, hidden);
  const example::Examples examples(batch, example::kLoopInputs, 3);
  std::int64_t after_two = 0, after_four = 0;
  std::vector<pl::Tensor> losses;
  pl::GradientTape tape({.persistent = true});
  for (int step = 0; step < steps; ++step) {
    for (const pl::Tensor& weight : model.weights) tape.watch(weight);
    const pl::Tensor loss = model.loss(examples.x, examples.y);
    model.descend(tape.gradient(loss, model.weights), example::kLoopRate);
    losses.push_back(loss);
    if (step == 1) after_two = session.host_held_bytes();
    if (step == 3) after_four = session.host_held_bytes();
  }
  std::cout << session.explain();
  // What two steps keep, for all the others.
  return {after_four + (after_four - after_two) / 2 * (steps - 4),
          losses.back().item()};
}

example::Outcome a_tape_a_step(const example::Setting& setting) {
  const auto [batch, hidden, steps] = example::loop_sizes(setting);
  const pl::Session session({.host = setting.small ? "64MiB" : "192MiB"});
  example::Perceptron model(example::kLoopInputs, hidden);
  const example::Examples examples(batch, example::kLoopInputs, 3);
  std::int64_t expected = 0;
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    pl::GradientTape tape;
    for (const pl::Tensor& weight : model.weights) tape.watch(weight);
    const pl::Tensor loss = model.loss(examples.x, examples.y);
    model.descend(tape.gradient(loss, model.weights), example::kLoopRate);
    losses.push_back(loss.item());
    if (step == 1) expected = session.host_held_bytes();
  }
  std::cout << session.explain();
  return {expected, losses.back()};
}

}  // namespace

int main(int argc, char** argv) {
  return example::compare(
      argc, argv,
      {.question = "The model is small, and yet memory grows with each step.",
       .parts = {{"one-tape", example::Role::problem,
                  "one persistent tape around the loop, losses as tensors",
                  one_tape},
                 {"a-tape-a-step", example::Role::cure,
                  "a tape for each step, losses as numbers", a_tape_a_step}},
       .line_bytes = 192 << 20,
       .small_line_bytes = 64 << 20,
       .tolerance = 0});
}
