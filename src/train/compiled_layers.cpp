#include "train/compiled_layers.h"

#include <set>
#include <string>

#include "base/units.h"
#include "ops/cuda_kernels.h"

namespace plimsoll::train {
namespace {

// Seen on an H200: the first engine took 101 MiB while it was compiled, further
// ones of attention 34 to 40, two of long rows 105 with their compiler, those
// of batch normalization with all shapes of ResNet-50 and of MobileNetV2 158
// and 165 together.
constexpr std::int64_t kCompilerBytes = 96 * kMiB;
constexpr std::int64_t kLargeBytes = 40 * kMiB;
constexpr std::int64_t kSmallBytes = 4 * kMiB;

std::int64_t engine_bytes(const std::string& kernel) {
  const auto is_of = [&](const char* op) { return kernel.starts_with(op); };
  const bool small = is_of("batch_norm") || is_of("avg_pool2d");
  return small ? kSmallBytes : kLargeBytes;
}

}  // namespace

std::int64_t compiled_layer_bytes(std::span<const PlannedProgram> programs) {
  std::set<std::string> kinds;
  std::int64_t bytes = 0;
  for (const PlannedProgram& program : programs) {
    for (const graph::Instruction& step : program.lowered.instructions) {
      const std::string& kernel = step.kernel.name;
      if (!ops::uses_compiled_layer(step.kernel) ||
          !kinds.insert(kernel + graph::to_string(step.input_types)).second) {
        continue;
      }
      bytes += engine_bytes(kernel);
    }
  }
  return bytes > 0 ? kCompilerBytes + bytes : 0;
}

}  // namespace plimsoll::train
