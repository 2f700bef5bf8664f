// The checking run must find what one arena hides: overlaps and overflows.
#include "runtime/checking.h"

#include <gtest/gtest.h>

#include <cstring>

#include "ops/elementwise/elementwise.h"
#include "ops/standard_ops.h"
#include "plan/validator.h"

namespace plimsoll::runtime {
namespace {

// Adds one to each float, and writes `beyond` floats past its output.
class AddOne final : public ops::Kernel {
 public:
  AddOne(std::int64_t count, std::int64_t beyond)
      : count_(count), beyond_(beyond) {}
  ops::LaunchStatus launch(const ops::LaunchArgs& args) noexcept override {
    const auto* in = static_cast<const float*>(args.inputs[0]);
    auto* out = static_cast<float*>(args.outputs[0]);
    for (std::int64_t i = 0; i < count_; ++i) out[i] = in[i] + 1;
    for (std::int64_t i = 0; i < beyond_; ++i) out[count_ + i] = 7;
    return ops::LaunchStatus::ok;
  }

 private:
  std::int64_t count_;
  std::int64_t beyond_;
};

class AddOneKernels final : public ops::KernelFactory {
 public:
  explicit AddOneKernels(std::int64_t beyond) : beyond_(beyond) {}
  Result<std::vector<graph::KernelCandidate>> candidates(
      const graph::KernelQuery&) const override {
    return std::vector<graph::KernelCandidate>{{"add_one", 0, 0, 1e-6, {}}};
  }
  Result<std::unique_ptr<ops::Kernel>> create(
      const graph::KernelQuery& query,
      const graph::KernelCandidate&) const override {
    ++created;
    return std::unique_ptr<ops::Kernel>(
        new AddOne(query.outputs[0].shape.elements(), beyond_));
  }

  mutable int created = 0;

 private:
  std::int64_t beyond_;
};

// x -> a -> b -> c with x and a read again at the end: a and b are alive
// together. Element-wise ops stand in; the kernels above are what runs.
class CheckingTest : public ::testing::Test {
 protected:
  void plan(const ops::KernelFactory& kernels) {
    graph::Builder b;
    const auto x = b.input("x", {DType::f32, Shape{16}});
    const auto a = ops::exp(b, x);
    const auto c = ops::exp(b, ops::exp(b, a));
    b.output(a);
    b.output(c);
    auto graph = std::move(b).finish();
    ASSERT_TRUE(graph.ok());
    auto lowered = graph::lower(*graph, 1, kernels, ops::standard_ops());
    ASSERT_TRUE(lowered.ok()) << lowered.error().message;
    lowered_ = *std::move(lowered);
    auto planned = plan::plan_program(lowered_, "test");
    ASSERT_TRUE(planned.ok());
    plan_ = *std::move(planned);
    layout_.transient_offset = 64;
    layout_.bytes = 64 + plan_.home.height_bytes + 64;
    arena_.assign(static_cast<std::size_t>(layout_.bytes), std::byte{0});
  }

  Status run(const ops::KernelFactory& kernels) {
    PLIMSOLL_ASSIGN(auto program,
                    Program::prepare(lowered_, plan_,
                                     {arena_.data(), &layout_, {}}, kernels));
    std::vector<float> x(16, 1.0f);
    program->bind_input(0, x.data());
    return run_checked(*program);
  }

  graph::LoweredGraph lowered_;
  plan::ProgramPlan plan_;
  plan::ArenaLayout layout_;
  std::vector<std::byte> arena_;
};

TEST_F(CheckingTest, PassesARightPlan) {
  const AddOneKernels kernels(0);
  plan(kernels);
  const Status status = run(kernels);
  EXPECT_TRUE(status.ok()) << status.error().message;
}

TEST_F(CheckingTest, FindsAnOverflowOfOneElement) {
  plan(AddOneKernels(0));
  const Status status = run(AddOneKernels(1));
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("outside its outputs"),
            std::string::npos)
      << status.error().message;
}

TEST_F(CheckingTest, FindsAPlantedOverlap) {
  const AddOneKernels kernels(0);
  plan(kernels);
  ASSERT_TRUE(plan::validate(lowered_, plan_).ok());
  // Move the last result onto the first, which is still to be read.
  std::vector<std::size_t> transient;
  for (std::size_t i = 0; i < plan_.buffer_offsets.size(); ++i) {
    if (plan_.buffer_offsets[i] >= 0) transient.push_back(i);
  }
  ASSERT_GE(transient.size(), 2u);
  plan_.buffer_offsets[transient[1]] = plan_.buffer_offsets[transient[0]];
  EXPECT_FALSE(plan::validate(lowered_, plan_).ok());
  const Status status = run(kernels);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("overwritten"), std::string::npos)
      << status.error().message;
}

TEST_F(CheckingTest, RecordsTheHeightItWasGiven) {
  const AddOneKernels kernels(0);
  plan(kernels);
  auto program =
      Program::prepare(lowered_, plan_, {arena_.data(), &layout_, {}}, kernels);
  ASSERT_TRUE(program.ok());
  std::vector<float> x(16, 1.0f);
  (*program)->bind_input(0, x.data());
  ASSERT_TRUE((*program)->run().ok());
  EXPECT_EQ((*program)->recorded_height_bytes(), plan_.home.height_bytes);
  float last = 0;
  std::memcpy(&last, (*program)->output(1), sizeof(last));
  EXPECT_EQ(last, 4.0f);
}

TEST_F(CheckingTest, EqualInstructionsShareAKernel) {
  const AddOneKernels kernels(0);
  plan(kernels);
  ASSERT_TRUE(run(kernels).ok());
  EXPECT_EQ(lowered_.instructions.size(), 3u);
  EXPECT_EQ(kernels.created, 1);
}

}  // namespace
}  // namespace plimsoll::runtime
