#include "ops/update/step_function_cuda.h"

#include <fmt/core.h>

#include "ops/cuda_text.h"
#include "ops/update/step_function.h"

namespace plimsoll::ops {
namespace {

using Kind = StepFunction::Kind;

constexpr std::string_view kShare =
    "    f64 share = div(step, $decay_steps);\n";
constexpr std::string_view kDown = "    share = floor(share);\n";
constexpr std::string_view kExponential =
    "    value = mul($initial, power_of($decay_rate, share));\n";
constexpr std::string_view kInverse =
    "    value = div($initial, add(1.0, mul($decay_rate, share)));\n";
constexpr std::string_view kCycle = R"(    const f64 periods = ceil(share);
    share = div(step, mul($decay_steps, periods > 1.0 ? periods : 1.0));
)";
constexpr std::string_view kPolynomial =
    R"(    if (share > 1.0) share = 1.0;
    value = add(mul($range, power_of(sub(1.0, share), $power)), $end);
)";
// cos() would need memory of its own for large arguments.
constexpr std::string_view kCosine =
    R"(    if (step < $warmup_steps) {
      value = add($initial, mul($rise, div(step, $warmup_steps)));
    } else {
      f64 share = div(sub(step, $warmup_steps), $decay_steps);
      if (share > 1.0) share = 1.0;
      const f64 wave = mul(0.5, add(1.0, cospi(share)));
      value = mul($from, add(mul($fall, wave), $alpha));
    }
)";

std::string text_of(const StepFunction& function) {
  const auto number = [](double value) {
    return cuda_number(DType::f64, value);
  };
  std::string text;
  switch (function.kind) {
    case Kind::power:
      text = "    value = power_of(step > 1.0 ? step : 1.0, $exponent);\n";
      break;
    case Kind::exponential_decay:
    case Kind::inverse_time_decay:
      text = kShare;
      if (function.staircase) text += kDown;
      text +=
          function.kind == Kind::exponential_decay ? kExponential : kInverse;
      break;
    case Kind::polynomial_decay:
      text = kShare;
      if (function.cycle) text += kCycle;
      text += kPolynomial;
      break;
    case Kind::cosine_decay:
      text = kCosine;
      break;
    case Kind::piecewise_constant:
      text = fmt::format("    value = {};\n", number(function.values[0]));
      for (std::size_t i = 0; i < function.boundaries.size(); ++i) {
        text += fmt::format("    if (step > {}) value = {};\n",
                            number(function.boundaries[i]),
                            number(function.values[i + 1]));
      }
  }
  const bool warm = function.warmup_target > 0;
  return cuda_text(
      text, {{"exponent", number(function.exponent)},
             {"initial", number(function.initial)},
             {"decay_steps", number(function.decay_steps)},
             {"decay_rate", number(function.decay_rate)},
             {"end", number(function.end)},
             {"range", number(function.initial - function.end)},
             {"power", number(function.power)},
             {"warmup_steps", number(warm ? function.warmup_steps : 0)},
             {"rise", number(function.warmup_target - function.initial)},
             {"from", number(warm ? function.warmup_target : function.initial)},
             {"alpha", number(function.alpha)},
             {"fall", number(1 - function.alpha)}});
}

// In f64, by one thread: the host has nothing to do between two steps.
Result<cuda::OpCode> code(const graph::KernelQuery& query,
                          const CudaSettings&) {
  const auto function = StepFunction::of(*query.attrs);
  if (!function) return cuda::OpCode();
  return cuda_op(query, "step_function:cuda",
                 cuda_text(R"(  if (block == 0 && threadIdx.x == 0) {
    const f64 step = (f64)in0[0];
    f64 value;
$text    out0[0] = ($T)value;
  }
)",
                           {{"text", text_of(*function)},
                            {"T", cuda_type(query.outputs[0].dtype)}}),
                 1);
}

}  // namespace

CudaKernels step_function_cuda_kernel() { return {"step_function", code}; }

}  // namespace plimsoll::ops
