// The harness must see what it is there to see: kernels with one planted
// mistake each.
#include <gtest/gtest.h>

#include "ops/harness.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {
namespace {

enum class Plant {
  none,
  wrong_value,
  past_the_output,
  before_the_output,
  past_the_scratch,
  changes_input,
  leaves_one_out,
  other_bits_each_time,
};

// y = -x for ten floats, with a mistake.
class PlantedKernel final : public Kernel {
 public:
  explicit PlantedKernel(Plant plant) : plant_(plant) {}

  // What it does is for the guards to see, not for the sanitizer.
  [[gnu::no_sanitize_address]] LaunchStatus launch(
      const LaunchArgs& args) noexcept override {
    const auto* x = static_cast<const float*>(args.inputs[0]);
    auto* y = static_cast<float*>(args.outputs[0]);
    const int count = plant_ == Plant::leaves_one_out ? 9 : 10;
    const float first = -x[0];
    for (int i = 0; i < count; ++i) y[i] = -x[i];
    switch (plant_) {
      case Plant::wrong_value:
        y[7] += 0.001f;
        break;
      case Plant::past_the_output:
        reinterpret_cast<char*>(y + 10)[0] = 0;
        break;
      case Plant::before_the_output:
        reinterpret_cast<char*>(y)[-1] = 0;
        break;
      case Plant::past_the_scratch:
        static_cast<char*>(args.scratch)[64] = 0;
        break;
      case Plant::changes_input:
        const_cast<float*>(x)[3] = 0;
        break;
      case Plant::other_bits_each_time:
        y[0] = first * (1 + 1e-6f * static_cast<float>(++launches_));
        break;
      default:
        break;
    }
    return LaunchStatus::ok;
  }

 private:
  Plant plant_;
  int launches_ = 0;
};

class PlantedFactory final : public KernelFactory {
 public:
  explicit PlantedFactory(Plant plant) : plant_(plant) {}
  Result<std::vector<graph::KernelCandidate>> candidates(
      const graph::KernelQuery&) const override {
    graph::KernelCandidate candidate;
    candidate.name = "planted";
    candidate.scratch_bytes = 64;
    return std::vector{candidate};
  }
  Result<std::unique_ptr<Kernel>> create(
      const graph::KernelQuery&, const graph::KernelCandidate&) const override {
    return std::unique_ptr<Kernel>(std::make_unique<PlantedKernel>(plant_));
  }

 private:
  Plant plant_;
};

std::string first_mistake(Plant plant) {
  // Without its in-place pairs, so that each plant shows in one way.
  graph::OpDef negate = *find_op("negate");
  negate.in_place.clear();
  OpRecord record;
  record.name = "planted_record";
  record.op = &negate;
  record.inputs = {{DType::f32, {10}}};
  const Result<Case> test = make_case(record, DType::f32);
  if (!test) return test.error().message;
  ComputeThreads threads(1);
  std::map<std::string, std::vector<Bytes>> seen;
  const PlantedFactory factory(plant);
  const Mistakes mistakes = check_forward(*test, factory, threads, seen);
  return mistakes.empty() ? "" : mistakes.front();
}

TEST(PlantedMistakes, AreFoundAndNamed) {
  EXPECT_EQ(first_mistake(Plant::none), "");
  const std::string wrong = first_mistake(Plant::wrong_value);
  for (const char* part : {"op negate", "record planted_record",
                           "candidate planted", "index 7", "got", "want"}) {
    EXPECT_NE(wrong.find(part), std::string::npos) << part << ": " << wrong;
  }
  const auto expect = [](Plant plant, const std::string& text) {
    const std::string mistake = first_mistake(plant);
    EXPECT_NE(mistake.find(text), std::string::npos) << text << ": " << mistake;
  };
  expect(Plant::past_the_output, "outside of output 0");
  expect(Plant::before_the_output, "outside of output 0");
  expect(Plant::past_the_scratch, "outside of scratch");
  expect(Plant::changes_input, "changes input 0");
  expect(Plant::leaves_one_out, "index 9");
  expect(Plant::other_bits_each_time, "other bits");
}

// The rule forgets the sign.
Result<std::vector<graph::ValueId>> wrong_gradient(
    graph::GradientContext& context) {
  return std::vector{context.output_gradients[0]};
}

TEST(PlantedMistakes, AWrongGradientIsFoundAndNamed) {
  graph::OpDef negate = *find_op("negate");
  OpRecord record;
  record.name = "planted_gradient";
  record.op = &negate;
  record.inputs = {{DType::f32, {10}}};
  record.gradient_of = {0};
  ComputeThreads threads(1);
  EXPECT_EQ(check_gradient(record, threads), Mistakes());
  negate.gradient = wrong_gradient;
  const Mistakes mistakes = check_gradient(record, threads);
  ASSERT_EQ(mistakes.size(), 10u);
  for (const char* part : {"op negate", "record planted_gradient", "input 0",
                           "index 0", "got", "want"}) {
    EXPECT_NE(mistakes[0].find(part), std::string::npos) << mistakes[0];
  }
}

}  // namespace
}  // namespace plimsoll::ops::testing
