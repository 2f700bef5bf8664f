// What a model keeps when its caller throws or moves its session.
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>

#include "plimsoll/plimsoll.h"
#include "thrown.h"

namespace plimsoll::train::testing {
namespace {

Sequential compiled(Session& session) {
  Sequential made{Dense(4, relu), Dense(1, sigmoid)};
  made.compile(session, {.loss = binary_crossentropy});
  return made;
}

data::Dataset set() { return data::random(70, {3}).batch(32); }

TEST(ModelSafetyTest, WhatTheCallerThrowsLeavesTheWeights) {
  Session session{{.host = "1GiB", .threads = 2}};
  Sequential whole = compiled(session);
  whole.fit(set(), {.epochs = 2});
  Sequential made = compiled(session);
  const auto stop_after_two = [](std::int64_t epoch, double) {
    if (epoch == 2) throw std::runtime_error("enough");
  };
  EXPECT_THROW(made.fit(set(), {.epochs = 9, .on_progress = stop_after_two}),
               std::runtime_error);
  EXPECT_EQ(made.weights("dense_1/kernel"), whole.weights("dense_1/kernel"));
  EXPECT_NO_THROW(made.fit(set(), {.epochs = 1}));
}

// Before there is any data, and what was compiled stays.
TEST(ModelSafetyTest, OptionsAreCheckedWhenTheModelIsCompiled) {
  Session session{{.host = "1GiB", .threads = 1}};
  Sequential made = compiled(session);
  using plimsoll::testing::thrown;
  EXPECT_EQ(thrown([&] { made.compile(session, {.precision = "bf17"}); }),
            "precision \"bf17\": use f32, bf16, f16 or f64");
  EXPECT_EQ(thrown([&] { made.compile(session, {.metrics = {"f1"}}); }),
            "unknown metric `f1`: known are accuracy, binary_accuracy, "
            "categorical_accuracy, sparse_categorical_accuracy, "
            "mean_squared_error, mean_absolute_error");
  EXPECT_EQ(thrown([&] { made.compile(session, {.loss = Loss{"huber"}}); }),
            "unknown loss `huber`: known are binary_crossentropy, "
            "mean_squared_error, mean_absolute_error, "
            "categorical_crossentropy, sparse_categorical_crossentropy");
  Layer wide = Dense(3);
  wide.precision = "f64";
  Sequential mixed{Dense(4), wide};
  EXPECT_EQ(thrown([&] { mixed.compile(session); }),
            "dense_2: computes in f64, but the job's parameters are f32: train "
            "in f64, as in --precision f64");
  EXPECT_NO_THROW(mixed.compile(session, {.precision = "f64"}));
  EXPECT_NE(thrown([&] {
              made.compile(session, {.optimizer = Adam{.learning_rate = -1}});
            }).find("learning_rate"),
            std::string::npos);
  EXPECT_NO_THROW(made.fit(set(), {.epochs = 1}));
}

TEST(ModelSafetyTest, EpochsAreCounted) {
  Session session{{.host = "1GiB", .threads = 1}};
  Sequential made = compiled(session);
  using plimsoll::testing::thrown;
  EXPECT_EQ(thrown([&] { made.fit(set(), {.epochs = -1}); }),
            "fit: epochs: must be an integer of at least 0, not -1");
  EXPECT_NO_THROW(made.fit(set(), {.epochs = 1}));
}

TEST(ModelSafetyTest, AMovedModelIsNamed) {
  Session session{{.host = "1GiB", .threads = 1}};
  Sequential made = compiled(session);
  Sequential taken = std::move(made);
  using plimsoll::testing::thrown;
  const char* const text = "the model was moved from: it has no layers";
  EXPECT_EQ(thrown([&] { made.compile(session); }), text);
  EXPECT_EQ(thrown([&] { made.plan(set()); }), text);
  EXPECT_EQ(thrown([&] { made.fit(set()); }), text);
  EXPECT_EQ(thrown([&] { made.evaluate(set()); }), text);
  EXPECT_EQ(thrown([&] { made.predict(set()); }), text);
  EXPECT_EQ(thrown([&] { made.summary(set()); }), text);
  EXPECT_EQ(thrown([&] { made.weights("dense_1/kernel"); }), text);
  EXPECT_EQ(thrown([&] { made.save_weights("w"); }), text);
  EXPECT_EQ(thrown([&] { made.load_weights("w"); }), text);
  EXPECT_EQ(thrown([&] { made.parameters({3}); }), text);
  EXPECT_EQ(thrown([&] { made.to_toml(); }), text);
  EXPECT_NO_THROW(taken.fit(set()));
  made = std::move(taken);
  EXPECT_NO_THROW(made.fit(set()));
}

TEST(ModelSafetyTest, AMovedSessionGoesOn) {
  std::optional<Session> first(
      Session{SessionOptions{.host = "1GiB", .threads = 2}});
  std::optional<Session> second;  // before the model: it must outlive it
  Sequential made = compiled(*first);
  second.emplace(std::move(*first));
  first.reset();
  made.fit(set(), {.epochs = 1});
  EXPECT_GT(second->host_held_bytes(), 0);
}

}  // namespace
}  // namespace plimsoll::train::testing
