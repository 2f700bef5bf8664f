#include "ops/update/step_function.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using graph::TensorType;
using graph::TypeList;
using Kind = StepFunction::Kind;

constexpr std::pair<std::string_view, Kind> kKinds[] = {
    {"power", Kind::power},
    {"exponential_decay", Kind::exponential_decay},
    {"inverse_time_decay", Kind::inverse_time_decay},
    {"polynomial_decay", Kind::polynomial_decay},
    {"cosine_decay", Kind::cosine_decay},
    {"piecewise_constant", Kind::piecewise_constant}};

Result<TypeList> infer(std::span<const TensorType> inputs, const Attrs& attrs) {
  const auto dtype = parse_dtype(attrs.get<std::string>("dtype"));
  if (inputs.size() != 1 || inputs[0] != TensorType{DType::i64, Shape{}} ||
      !dtype || !is_trainable(*dtype) || !StepFunction::of(attrs)) {
    return Error{
        ErrorCode::bad_input,
        fmt::format("step_function({}): expected an i64 scalar, a dtype of "
                    "f32 or f64, and a function with its numbers",
                    graph::to_string(inputs))};
  }
  return TypeList{{*dtype, Shape{}}};
}

graph::Cost cost(std::span<const TensorType>, std::span<const TensorType>,
                 const Attrs&) {
  return {50, 16};
}

graph::OpDef make_op() {
  graph::OpDef op;
  op.name = "step_function";
  op.infer = infer;
  op.cost = cost;
  // The step it reads is overwritten.
  op.recomputable = false;
  return op;
}

}  // namespace

std::optional<StepFunction> StepFunction::of(const Attrs& attrs) {
  StepFunction made;
  const auto name = attrs.get<std::string>("function");
  const auto found =
      std::find_if(std::begin(kKinds), std::end(kKinds),
                   [&](const auto& k) { return k.first == name; });
  if (found == std::end(kKinds)) return std::nullopt;
  made.kind = found->second;
  const auto number = [&](const char* key, double& value) {
    value = attrs.get<double>(key, value);
  };
  number("exponent", made.exponent);
  number("initial_learning_rate", made.initial);
  number("decay_steps", made.decay_steps);
  number("decay_rate", made.decay_rate);
  number("end_learning_rate", made.end);
  number("power", made.power);
  number("alpha", made.alpha);
  number("warmup_target", made.warmup_target);
  number("warmup_steps", made.warmup_steps);
  made.staircase = attrs.get<bool>("staircase");
  made.cycle = attrs.get<bool>("cycle");
  made.boundaries = attrs.get<std::vector<double>>("boundaries");
  made.values = attrs.get<std::vector<double>>("values");
  const bool right = made.decay_steps > 0 &&
                     (made.kind != Kind::piecewise_constant ||
                      (!made.boundaries.empty() &&
                       made.values.size() == made.boundaries.size() + 1));
  return right ? std::optional(std::move(made)) : std::nullopt;
}

double StepFunction::at(double step) const noexcept {
  double share = step / decay_steps;
  switch (kind) {
    case Kind::power:
      return std::pow(std::max(step, 1.0), exponent);
    case Kind::exponential_decay:
      if (staircase) share = std::floor(share);
      return initial * std::pow(decay_rate, share);
    case Kind::inverse_time_decay:
      if (staircase) share = std::floor(share);
      return initial / (1 + decay_rate * share);
    case Kind::polynomial_decay:
      share = cycle ? step / (decay_steps * std::max(1.0, std::ceil(share)))
                    : std::min(share, 1.0);
      return (initial - end) * std::pow(1 - share, power) + end;
    case Kind::cosine_decay: {
      const bool warm = warmup_target > 0;
      if (warm && step < warmup_steps) {
        return initial + (warmup_target - initial) * (step / warmup_steps);
      }
      const double done = warm ? step - warmup_steps : step;
      const double wave =
          0.5 *
          (1 + std::cos(std::numbers::pi * std::min(done / decay_steps, 1.0)));
      return (warm ? warmup_target : initial) * ((1 - alpha) * wave + alpha);
    }
    case Kind::piecewise_constant:
      break;
  }
  std::size_t piece = 0;
  while (piece < boundaries.size() && step > boundaries[piece]) ++piece;
  return values[piece];
}

const graph::OpDef& step_function_op() {
  static const graph::OpDef op = make_op();
  return op;
}

graph::ValueId step_function(graph::Builder& builder, graph::ValueId step,
                             DType dtype, Attrs attrs) {
  attrs.set("dtype", std::string(name_of(dtype)));
  return builder.emit(step_function_op(), {step}, std::move(attrs));
}

}  // namespace plimsoll::ops
