#include "train/small_models.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plimsoll::examples {
namespace {

Example with(Example example, double learning_rate) {
  example.compile.optimizer = Adam{.learning_rate = learning_rate};
  return example;
}

void add_image_networks(std::vector<Example>& all) {
  all.push_back(conv28(
      {.image = 8, .resized = 12, .filters = 4, .batch = 8, .examples = 80}));
  all.push_back(with(resnet50({.image = 32,
                               .classes = 10,
                               .width = 4,
                               .blocks = {1, 2, 1, 1},
                               .batch = 8,
                               .examples = 80}),
                     0.001));
  all.push_back(with(mobilenet_v2({.image = 32,
                                   .classes = 10,
                                   .width = 0.25,
                                   .most = 2,
                                   .batch = 8,
                                   .examples = 80}),
                     0.001));
  all.push_back(with(vgg16({.image = 32,
                            .classes = 10,
                            .width = 4,
                            .hidden = 32,
                            .batch = 8,
                            .examples = 80}),
                     0.001));
  all.push_back(with(unet({.image = 16,
                           .channels = 2,
                           .width = 4,
                           .depth = 2,
                           .batch = 8,
                           .examples = 80}),
                     0.003));
}

}  // namespace

std::vector<Example> trained_networks() {
  std::vector<Example> all;
  add_image_networks(all);
  // So many classes that the logits are never whole.
  all.push_back(gpt2({.vocabulary = 5000,
                      .context = 16,
                      .tokens = 12,
                      .width = 16,
                      .heads = 2,
                      .layers = 2,
                      .dropout = 0.1,
                      .batch = 8,
                      .examples = 80}));
  all.push_back(with(bert_base({.vocabulary = 60,
                                .context = 16,
                                .tokens = 12,
                                .width = 16,
                                .heads = 2,
                                .layers = 2,
                                .batch = 8,
                                .examples = 80}),
                     0.003));
  all.push_back(lstm_forecaster(
      {.steps = 7, .features = 3, .units = 6, .batch = 8, .examples = 80}));
  all.push_back(with(
      two_tower(
          {.users = 30, .items = 40, .width = 4, .batch = 8, .examples = 80}),
      0.01));
  return all;
}

void expect_to_train(Example example, Session& session) {
  {
    example.model.compile(session, example.compile);
    const auto plan = example.model.plan(example.data);
    ASSERT_TRUE(plan.fits()) << plan.summary();
    const auto history = example.model.fit(example.data, {.epochs = 2});
    ASSERT_EQ(history.loss.size(), 2u);
    EXPECT_TRUE(std::isfinite(history.loss[0]));
    EXPECT_LT(history.loss[1], history.loss[0]);
    EXPECT_EQ(history.forecast_host_bytes, history.measured_host_bytes);
    EXPECT_LE(history.measured_host_bytes, session.host_budget_bytes());
    EXPECT_EQ(history.forecast_device_bytes, history.measured_device_bytes);
    EXPECT_LE(history.measured_device_bytes, session.device_budget_bytes());
    const bool on_device = session.device_budget_bytes() > 0;
    EXPECT_EQ(history.measured_device_bytes > 0, on_device);
    EXPECT_GT(
        on_device ? session.device_held_bytes() : session.host_held_bytes(),
        0);  // the weights
    const auto again = example.model.evaluate(example.data);
    EXPECT_TRUE(std::isfinite(again.loss));
    const Example gone = std::move(example);
  }
  EXPECT_EQ(session.host_held_bytes(), 0);
  EXPECT_EQ(session.device_held_bytes(), 0);
}

}  // namespace plimsoll::examples
