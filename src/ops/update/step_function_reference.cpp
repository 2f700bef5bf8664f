#include "ops/update/step_function_reference.h"

#include <cmath>

namespace plimsoll::ops {
namespace {

constexpr double kPi = 3.14159265358979323846;

double value_at(const graph::Attrs& attrs, double step) {
  const auto name = attrs.get<std::string>("function");
  const auto of = [&](const char* key) { return attrs.get<double>(key); };
  if (name == "power") return std::pow(std::fmax(step, 1), of("exponent"));
  const double initial = of("initial_learning_rate");
  const double decay_steps = of("decay_steps");
  if (name == "exponential_decay" || name == "inverse_time_decay") {
    double p = step / decay_steps;
    if (attrs.get<bool>("staircase")) p = std::floor(p);
    return name == "exponential_decay" ? initial * std::pow(of("decay_rate"), p)
                                       : initial / (1 + of("decay_rate") * p);
  }
  if (name == "polynomial_decay") {
    double last = decay_steps;
    double at = std::fmin(step, decay_steps);
    if (attrs.get<bool>("cycle")) {
      at = step;
      if (step > 0) last *= std::ceil(step / decay_steps);
    }
    const double end = of("end_learning_rate");
    return (initial - end) * std::pow(1 - at / last, of("power")) + end;
  }
  if (name == "cosine_decay") {
    const double target = of("warmup_target");
    const double warmup = target > 0 ? of("warmup_steps") : 0;
    if (step < warmup) return initial + (target - initial) * step / warmup;
    const double done = std::fmin(step - warmup, decay_steps) / decay_steps;
    const double wave = (1 + std::cos(kPi * done)) / 2;
    const double alpha = of("alpha");
    return (target > 0 ? target : initial) * ((1 - alpha) * wave + alpha);
  }
  const auto boundaries = attrs.get<std::vector<double>>("boundaries");
  const auto values = attrs.get<std::vector<double>>("values");
  for (std::size_t i = 0; i < boundaries.size(); ++i) {
    if (step <= boundaries[i]) return values[i];
  }
  return values.back();
}

}  // namespace

void step_function_reference(const std::vector<RefTensor>& in,
                             const graph::Attrs& attrs,
                             std::vector<RefTensor>& out) {
  out[0].values[0] = value_at(attrs, in[0].values[0]);
}

}  // namespace plimsoll::ops
