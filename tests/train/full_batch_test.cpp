// Data without a full batch, where partial ones are left out.
#include <gtest/gtest.h>

#include "fit_fixture.h"
#include "thrown.h"
#include "train/job_data.h"

namespace plimsoll::train::testing {
namespace {

using FullBatchTest = FitTest;

JobSpec job_of(std::int64_t batch, bool remainder) {
  JobSpec job;
  job.model.input = {3};
  const auto source = [](std::int64_t examples) {
    data::Recipe recipe;
    recipe.name = "random";
    recipe.options = {{"examples", examples},
                      {"features", std::vector<std::int64_t>{3}},
                      {"labels", std::string("binary")}};
    return recipe;
  };
  job.data.source = source(64);
  job.data.validation = source(5);
  job.data.pipeline = data::default_pipeline();
  for (data::Recipe& part : job.data.pipeline) {
    if (data::makes_batches(part)) part.options["remainder"] = remainder;
  }
  job.train.batch = batch;
  return job;
}

TEST_F(FullBatchTest, JobsAreRefusedBeforeTheyRun) {
  EXPECT_TRUE(open_data(job_of(16, true), 1));
  EXPECT_TRUE(open_data(job_of(5, false), 1));
  const auto refused = open_data(job_of(16, false), 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::bad_input);
  const std::string& text = refused.error().message;
  EXPECT_EQ(text.find("data.validation: "), 0U) << text;
  EXPECT_NE(text.find(": 5 examples, fewer than a batch of 16"),
            std::string::npos)
      << text;
  const auto source = open_data(job_of(65, false), 1);
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().message.find("data.source: "), 0U);
}

TEST_F(FullBatchTest, ModelsSaySo) {
  Sequential made = model(session_);
  const auto data = data::from_arrays(x_.data(), {kFeatures}, y_.data(), {}, 5);
  const data::Dataset few = data.batch(32, false);
  EXPECT_NE(bad_input([&] {
              made.fit(few, {.epochs = 1});
            }).find(": 5 examples, fewer than a batch of 32"),
            std::string::npos);
  made.fit(set(), {.epochs = 1});
  EXPECT_NE(bad_input([&] {
              made.evaluate(few);
            }).find(": 5 examples, fewer than a batch of 32"),
            std::string::npos);
  // Nobody has counted these.
  const data::Dataset filtered =
      data.filter([](const float*) { return true; }).batch(32);
  EXPECT_NE(
      plimsoll::testing::thrown([&] { made.evaluate(filtered); }, Failure::io)
          .find("no full batch of 32 examples"),
      std::string::npos);
}

}  // namespace
}  // namespace plimsoll::train::testing
