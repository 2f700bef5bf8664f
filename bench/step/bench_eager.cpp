// Eager ops one by one: the cost of asking, where the work is small.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <functional>

#include "plimsoll/plimsoll.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

// Nanoseconds of one call: the fastest of some rounds.
double nanoseconds(int calls, const std::function<void()>& work) {
  double best = 1e18;
  for (int round = 0; round < 20; ++round) {
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) work();
    const std::chrono::duration<double, std::nano> taken = Clock::now() - start;
    best = std::min(best, taken.count() / calls);
  }
  return best;
}

// A step of linear100 by hand: mean squared error, plain descent.
double tape_step(std::int64_t outputs, bool with_bias) {
  const Tensor x = random_uniform({32, 100}, 1);
  const Tensor y = random_uniform({32, outputs}, 2);
  Tensor w = random_normal({100, outputs}, 3, 0, 0.1);
  Tensor bias = zeros({outputs});
  return nanoseconds(2000, [&] {
    GradientTape tape;
    tape.watch(w);
    if (!with_bias) {
      const Tensor loss = mean(square(matmul(x, w) - y));
      w -= tape.gradient(loss, w) * 0.01;
      return;
    }
    tape.watch(bias);
    const Tensor loss = mean(square(matmul(x, w) + bias - y));
    const auto gradients = tape.gradient(loss, {w, bias});
    w -= gradients[0] * 0.01;
    bias -= gradients[1] * 0.01;
  });
}

int run(bool json, int threads) {
  const Session session({.host = "512MiB", .threads = threads});
  const Tensor small = random_uniform({32, 32}, 1);
  const double add = nanoseconds(20000, [&] { small + small; });
  const double product = nanoseconds(20000, [&] { matmul(small, small); });
  const double linear1 = tape_step(1, false);
  const double linear10 = tape_step(10, true);
  if (json) {
    fmt::print(
        "{{\"add_ns\": {:.0f}, \"matmul_ns\": {:.0f}, \"linear1_ns\": {:.0f}, "
        "\"linear10_ns\": {:.0f}}}\n",
        add, product, linear1, linear10);
    return 0;
  }
  fmt::print(
      "32 x 32 add {:.0f} ns, matmul {:.0f} ns; a step of linear100 with a "
      "tape: "
      "1 output {:.1f} us, {:.0f} examples/s; 10 and bias {:.1f} us, {:.0f} "
      "examples/s\n",
      add, product, linear1 / 1e3, 32e9 / linear1, linear10 / 1e3,
      32e9 / linear10);
  return 0;
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  CLI::App app("Eager ops and a tape's loop");
  bool json = false;
  app.add_flag("--json", json);
  int threads = 2;
  app.add_option("--threads", threads);
  CLI11_PARSE(app, argc, argv);
  return plimsoll::run(json, threads);
}
