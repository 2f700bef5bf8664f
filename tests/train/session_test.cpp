// A session's memories and its end: what models on it can still do.
#include <gtest/gtest.h>

#include <optional>

#include "base/units.h"
#include "plimsoll/plimsoll.h"

namespace plimsoll::train::testing {
namespace {

Sequential compiled(Session& session) {
  Sequential made{Dense(4, relu), Dense(1, sigmoid)};
  made.compile(session, {.loss = binary_crossentropy});
  return made;
}

data::Dataset set() { return data::random(70, {3}).batch(32); }

template <class Action>
std::string refusal_of(const Action& action, Failure wanted) {
  try {
    action();
  } catch (const Exception& error) {
    EXPECT_EQ(error.failure(), wanted) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST(SessionTest, PlansForAProfile) {
  Session session({.host = "2GiB",
                   .device_memory = "1GiB",
                   .device_profile = "h200",
                   .threads = 2});
  EXPECT_EQ(session.device_budget_bytes(), kGiB);
  Sequential model = compiled(session);
  const Plan plan = model.plan(set());
  EXPECT_TRUE(plan.fits()) << plan.summary();
  EXPECT_GT(plan.device_peak_bytes(), 300 * kMiB);
  EXPECT_GT(plan.host_peak_bytes(), 300 * kMiB);
  EXPECT_TRUE(has(plan.summary(), "device peak")) << plan.summary();
  EXPECT_TRUE(has(plan.json(), "\"exact\": false"));
  const auto trained = [&] { model.fit(set()); };
  const std::string text = refusal_of(trained, Failure::bad_input);
  EXPECT_TRUE(has(text, "h200") && has(text, "plans only")) << text;
  refusal_of([&] { model.evaluate(set()); }, Failure::bad_input);
  refusal_of([&] { model.predict(set()); }, Failure::bad_input);
  EXPECT_EQ(session.device_held_bytes(), 0);
}

TEST(SessionTest, ADeviceBudgetBelowTheDriversOwnDoesNotFit) {
  Session session({.device_memory = "10MiB", .device_profile = "t4"});
  Sequential model = compiled(session);
  const Plan plan = model.plan(set());
  EXPECT_FALSE(plan.fits());
  EXPECT_TRUE(has(plan.summary(), "driver")) << plan.summary();
}

TEST(SessionTest, APlanSaysWhichMemoryRunsOutFirst) {
  Session session({.host = "2GiB",
                   .device_memory = "256MiB",
                   .device_profile = "t4",
                   .threads = 2});
  Sequential model{Dense(256, relu), Dense(1, sigmoid)};
  model.compile(session, {.loss = binary_crossentropy});
  const auto wide = data::random(70, {256}).batch(32);
  const std::string text = model.plan(wide).summary();
  EXPECT_TRUE(has(text, "device memory runs out first, at batch ")) << text;
  EXPECT_EQ(model.plan(wide).host_exhausts_at(), std::nullopt);
  EXPECT_EQ(model.plan(wide).first_to_exhaust(), "device");
  const std::int64_t batch = model.plan(wide).device_exhausts_at().value_or(0);
  EXPECT_TRUE(model.plan(wide.batch(batch - 1)).fits());
  EXPECT_FALSE(model.plan(wide.batch(batch)).fits());
}

// The remedy is for the job beside what others hold.
TEST(SessionTest, ARefusalSaysWhatWouldFit) {
  Session session({.host = "256MiB", .threads = 2});
  std::vector<Tensor> held;
  for (const bool beside : {false, true}) {
    if (beside) held.push_back(zeros({2 << 20}));
    Sequential model = compiled(session);
    const auto large = data::random(100000, {1000}).batch(100000);
    const std::string text =
        refusal_of([&] { model.fit(large); }, Failure::does_not_fit);
    const auto at = text.find("train with batches of ");
    ASSERT_NE(at, std::string::npos) << text;
    const std::int64_t fewer = std::stoll(text.substr(at + 22));
    EXPECT_TRUE(model.plan(large.batch(fewer)).fits()) << text;
    EXPECT_FALSE(model.plan(large.batch(fewer + 1)).fits()) << text;
    EXPECT_EQ(model.plan(large).host_exhausts_at(), fewer + 1);
    EXPECT_TRUE(has(model.plan(large).summary(), text.c_str()));
    EXPECT_EQ(model.fit(large.batch(fewer)).loss.size(), 1u);
  }
}

TEST(SessionTest, WrongDevicesAreNamed) {
  const auto wrong = [](const SessionOptions& options, Failure failure,
                        const char* named) {
    const std::string text =
        refusal_of([&] { Session session(options); }, failure);
    EXPECT_TRUE(has(text, named)) << text;
  };
  wrong({.device = "tpu"}, Failure::bad_input, "tpu");
  wrong({.device = "cuda:x"}, Failure::bad_input, "cuda:x");
  wrong({.device_profile = "h20"}, Failure::bad_input, "h20");
  wrong({.device_memory = "1GiB"}, Failure::bad_input, "name a device");
  wrong({.device_memory = "12", .device_profile = "t4"}, Failure::bad_input,
        "12");
  // With or without a driver there are fewer than that.
  wrong({.device = "cuda:99"}, Failure::device, "cuda:99");
}

TEST(SessionTest, AfterCloseModelsSayThatItIsClosed) {
  Session session({.host = "1GiB", .threads = 2});
  Sequential model = compiled(session);
  model.fit(set());
  data::Iterator batches = set().iterate(session);
  batches.next();
  EXPECT_GT(session.host_held_bytes(), 0);
  session.close();
  EXPECT_EQ(session.host_held_bytes(), 0);
  EXPECT_EQ(session.explain(), "");
  const auto closed = [](const auto& action) {
    const std::string text = refusal_of(action, Failure::bad_input);
    EXPECT_TRUE(has(text, "session is closed")) << text;
  };
  closed([&] { model.plan(set()); });
  closed([&] { model.fit(set()); });
  closed([&] { model.evaluate(set()); });
  closed([&] { model.predict(set()); });
  closed([&] { model.weights("dense_1/kernel"); });
  closed([&] { batches.next(); });
  closed([&] { batches.position(); });
  closed([&] { set().iterate(session); });
  session.close();

  Session another({.host = "1GiB", .threads = 2});
  model.compile(another, {.loss = binary_crossentropy});
  EXPECT_EQ(model.fit(set()).loss.size(), 1u);
}

TEST(SessionTest, AModelOutlivesItsSession) {
  std::optional<Session> session(std::in_place,
                                 SessionOptions{.host = "1GiB", .threads = 2});
  Sequential model = compiled(*session);
  model.fit(set());
  std::optional<data::Iterator> batches(set().iterate(*session));
  session.reset();
  refusal_of([&] { model.fit(set()); }, Failure::bad_input);
  refusal_of([&] { batches->next(); }, Failure::bad_input);
}

TEST(SessionTest, AnAssignedSessionClosesTheOldOne) {
  Session session({.host = "1GiB", .threads = 2});
  Sequential model = compiled(session);
  model.fit(set());
  session = Session({.host = "2GiB", .threads = 2});
  refusal_of([&] { model.fit(set()); }, Failure::bad_input);
  EXPECT_EQ(session.host_budget_bytes(), 2 * kGiB);
}

TEST(SessionTest, AJobCannotCloseItsOwnSession) {
  Session session({.host = "1GiB", .threads = 2});
  Sequential model = compiled(session);
  const auto closing = [&](std::int64_t, double) { session.close(); };
  const std::string text = refusal_of(
      [&] { model.fit(set(), {.on_progress = closing}); }, Failure::bad_input);
  EXPECT_TRUE(has(text, "inside")) << text;
  EXPECT_FALSE(model.weights("dense_1/kernel").empty());
}

TEST(SessionTest, WhatOtherModelsHoldCounts) {
  Session session({.host = "1GiB", .threads = 2});
  Sequential first = compiled(session);
  Sequential second = compiled(session);
  const std::int64_t alone = second.plan(set()).host_peak_bytes();
  first.fit(set());
  const std::int64_t held = session.host_held_bytes();
  EXPECT_GT(held, 0);
  EXPECT_EQ(second.plan(set()).host_peak_bytes(), alone + held);
  const FitHistory history = second.fit(set());
  EXPECT_EQ(history.forecast_host_bytes, history.measured_host_bytes);
  const FitHistory again = second.fit(set());
  EXPECT_EQ(again.forecast_host_bytes, again.measured_host_bytes);
}

}  // namespace
}  // namespace plimsoll::train::testing
