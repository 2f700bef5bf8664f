// Tensors and tapes used in ways that nobody meant: each has a defined answer.
#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "plimsoll/plimsoll.h"
#include "thrown.h"

namespace plimsoll {
namespace {

using plimsoll::testing::thrown;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const SessionOptions kSmall{.host = "256MiB", .threads = 2};

void expect_gone(const Tensor& x) {
  const char* const text = "the session of this tensor is closed";
  EXPECT_EQ(x.shape(), (Extents{2, 2}));
  EXPECT_EQ(x.bytes(), 16);
  EXPECT_EQ(x.dtype(), DType::f32);
  std::ostringstream out;
  EXPECT_THAT(thrown([&] { out << x; }), HasSubstr(text));
  EXPECT_THAT(thrown([&] { x.to_floats(); }), HasSubstr(text));
  EXPECT_THAT(thrown([&] { x.to_doubles(); }), HasSubstr(text));
  EXPECT_THAT(thrown([&] { x + x; }), HasSubstr(text));
  EXPECT_THAT(thrown([&] { x * 2.0; }), HasSubstr(text));
  EXPECT_THAT(thrown([&] { matmul(x, x); }), HasSubstr(text));
  EXPECT_THAT(thrown([&] { sum(x); }), HasSubstr(text));
  EXPECT_THAT(thrown([&] { x.reshape({4}); }), HasSubstr(text));
  EXPECT_THAT(thrown([&] { x[0]; }), HasSubstr(text));
  EXPECT_THAT(thrown([&] { x.cast(DType::f64); }), HasSubstr(text));
  EXPECT_THAT(thrown([&] { concat({x, x}, 0); }), HasSubstr(text));
  EXPECT_THAT(thrown([&] { clip(x, 0, 1); }), HasSubstr(text));
  EXPECT_THAT(thrown([&] { mean_squared_error(x, x); }), HasSubstr(text));
  Tensor y = x;
  EXPECT_THAT(thrown([&] { y += x; }), HasSubstr(text));
  EXPECT_EQ(stop_gradient(x).shape(), x.shape());
  GradientTape tape;
  tape.watch(x);
  EXPECT_THAT(thrown([&] { tape.gradient(x, x); }), HasSubstr(text));
}

TEST(EagerSafety, ATensorOutlivesItsSession) {
  Tensor x, view;
  {
    const Session session(kSmall);
    x = ones({2, 2});
    view = ones({4}).reshape({2, 2});
  }
  expect_gone(x);
  expect_gone(view);
}

TEST(EagerSafety, ATensorIsUsedAfterClose) {
  Session session(kSmall);
  const Tensor x = ones({2, 2});
  session.close();
  expect_gone(x);
  EXPECT_THAT(thrown([] { ones({2}); }), HasSubstr("need a session"));
  EXPECT_EQ(session.host_held_bytes(), 0);
  EXPECT_EQ(session.explain(), "");
  session.close();
  const Session another(kSmall);
  expect_gone(x);
  EXPECT_THAT(thrown([&] {
                ones({2, 2}) + x;
              }),
              HasSubstr("belongs to another session"));
}

TEST(EagerSafety, ArraysMayBeEmpty) {
  const Session session(kSmall);
  const Tensor none = Tensor::of(std::vector<float>{}, {0, 3});
  EXPECT_TRUE(none.to_floats().empty());
  EXPECT_TRUE((none * 2.0).to_doubles().empty());
  EXPECT_EQ(sum(none).item(), 0);
}

TEST(EagerSafety, SessionsDoNotMix) {
  Session first(kSmall);
  const Tensor x = full({2}, 3);
  std::int64_t held = 0;
  for (const bool again : {false, true}) {
    if (again) held = first.host_held_bytes();  // kernels are there, and stay
    Session second(kSmall);
    const Tensor y = full({2}, 4);
    const std::string text = "belongs to another session";
    EXPECT_THAT(thrown([&] { x + y; }), HasSubstr(text));
    EXPECT_THAT(thrown([&] { concat({y, x}, 0); }), HasSubstr(text));
    // Results lie where operands do.
    const Tensor z = x * x;
    EXPECT_THAT((z + x).to_floats(), ElementsAre(12, 12));
    EXPECT_THAT(thrown([&] { z + y; }), HasSubstr(text));
    GradientTape tape;
    tape.watch(x);
    tape.watch(y);
    const Tensor from_x = square(x), from_y = square(y);
    EXPECT_THAT(thrown([&] { tape.gradient(from_x, x, from_y); }),
                HasSubstr(text));
  }
  EXPECT_EQ(first.host_held_bytes(), held);
  EXPECT_THAT((x + full({2}, 1)).to_floats(), ElementsAre(4, 4));
}

TEST(EagerSafety, ASessionIsClosedWhileTapesRecord) {
  auto session = std::make_optional<Session>(kSmall);
  const Tensor x = full({2, 2}, 3);
  GradientTape outer;
  outer.watch(x);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = sum(matmul(square(x), x));
  tape.gradient(y, x);
  session->close();
  const char* const text = "closed";
  EXPECT_THAT(thrown([&] { square(x); }), HasSubstr(text));
  EXPECT_THAT(thrown([&] { tape.gradient(y, x); }), HasSubstr(text));
  session.reset();
  EXPECT_THAT(thrown([&] { tape.gradient(y, x); }), HasSubstr(text));
  EXPECT_THAT(thrown([&] { outer.gradient(y, x); }), HasSubstr(text));
  // The tapes go on for another session's values.
  const Session another(kSmall);
  const Tensor z = full({}, 5);
  tape.watch(z);
  EXPECT_EQ(tape.gradient(square(z), z).item(), 10);
}

TEST(EagerSafety, ExceptionsLeaveTapesAndLoops) {
  const Session session(kSmall);
  const Tensor x = full({2}, 3);
  const Tensor small = ones({2});
  std::int64_t held = 0;
  std::string before;
  for (int i = 0; i < 20; ++i) {
    if (i == 3) {  // kernels are there, and stay
      held = session.host_held_bytes();
      before = session.explain();
    }
    try {
      GradientTape tape;
      tape.watch(x);
      const Tensor y = square(x) * 2.0;
      GradientTape inner;
      inner.watch(y);
      const Tensor z = y * y;
      if (i % 3 == 0) throw std::runtime_error("the user's");
      if (i % 3 == 1) matmul(z, ones({3, 3}));
      if (i % 3 == 2) ones({1 << 15, 1 << 15});
    } catch (const std::exception&) {
    }
  }
  EXPECT_EQ(session.host_held_bytes(), held);
  EXPECT_EQ(session.explain(), before);
  GradientTape tape;
  tape.watch(x);
  EXPECT_THAT(tape.gradient(square(x), x).to_floats(), ElementsAre(6, 6));
}

// Backward runs out of memory: everything but the operands has gone.
TEST(EagerSafety, AGradientThatDoesNotFit) {
  const Session session(kSmall);
  const Tensor x = ones({1 << 22});
  std::vector<Tensor> others;
  {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = exp(square(x));
    try {
      while (true) others.push_back(ones({1 << 20}));
    } catch (const Exception& over) {
      EXPECT_EQ(over.failure(), Failure::over_budget);
    }
    try {
      tape.gradient(y, x);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Exception& over) {
      EXPECT_EQ(over.failure(), Failure::over_budget) << over.what();
    }
    EXPECT_THAT(thrown([&] { tape.gradient(y, x); }), HasSubstr("before"));
  }
  others.clear();
  GradientTape tape;
  tape.watch(x);
  EXPECT_EQ(tape.gradient(sum(square(x)), x).to_floats()[7], 2);
}

TEST(EagerSafety, TapesGoInAnyOrder) {
  const Session session(kSmall);
  const Tensor x = full({}, 3);
  auto outer = std::make_unique<GradientTape>();
  outer->watch(x);
  auto middle = std::make_unique<GradientTape>(TapeOptions{true});
  middle->watch(x);
  auto inner = std::make_unique<GradientTape>();
  inner->watch(x);
  const Tensor y = x * x * x;
  const Tensor first = inner->gradient(y, x);
  outer.reset();
  const Tensor second = middle->gradient(first, x);
  EXPECT_EQ(second.item(), 18);
  const Tensor again = middle->gradient(y, x);
  middle.reset();
  EXPECT_EQ(again.item(), 27);
  inner.reset();
  EXPECT_EQ((x * again).item(), 81);
}

TEST(EagerSafety, TensorsChangeThreads) {
  Session session(kSmall);
  Tensor x = full({1000}, 2);
  Tensor made;
  std::thread worker([&, mine = std::move(x)]() mutable {
    // A tape of this thread; the other's do not see what is done here.
    GradientTape tape;
    tape.watch(mine);
    made = tape.gradient(sum(square(mine)), mine);
    mine = {};
  });
  worker.join();
  EXPECT_FALSE(x.defined());
  EXPECT_EQ(made.to_floats()[0], 4);
  EXPECT_EQ((made * 2.0).to_floats()[0], 8);
}

// Asked on another thread, a tape does not record there afterwards.
TEST(EagerSafety, ATapeIsAskedOnAnotherThread) {
  const Session session(kSmall);
  const Tensor x = full({}, 3);
  auto tape = std::make_unique<GradientTape>(TapeOptions{true});
  tape->watch(x);
  const Tensor y = square(x);
  Tensor there;
  std::atomic<int> turn = 0;
  std::thread other([&] {
    there = tape->gradient(y, x);
    turn = 1;
    while (turn == 1) std::this_thread::yield();
    there = there * x;
  });
  while (turn == 0) std::this_thread::yield();
  EXPECT_EQ(tape->gradient(square(y), x).item(), 108);
  tape.reset();
  turn = 2;
  other.join();
  EXPECT_EQ(there.item(), 18);
}

// Values may go on any thread while another one computes.
TEST(EagerSafety, TensorsAreFreedOnAnotherThread) {
  Session session(kSmall);
  const Tensor x = ones({100});
  for (int round = 0; round < 20; ++round) {
    std::vector<Tensor> garbage;
    for (int i = 0; i < 100; ++i) {
      garbage.push_back(x * static_cast<double>(i));
      garbage.push_back(garbage.back().reshape({10, 10}));
    }
    std::thread cleaner([mine = std::move(garbage)]() mutable {
      while (!mine.empty()) mine.pop_back();
    });
    for (int i = 0; i < 200; ++i) EXPECT_EQ(sum(x + x).item(), 200);
    cleaner.join();
  }
}

TEST(EagerSafety, TensorsAreFreedWhileTheirSessionCloses) {
  for (int round = 0; round < 20; ++round) {
    auto session = std::make_optional<Session>(kSmall);
    std::vector<Tensor> garbage;
    for (int i = 0; i < 200; ++i) garbage.push_back(ones({i + 1, 100}));
    std::thread cleaner([mine = std::move(garbage)]() mutable {
      while (!mine.empty()) mine.pop_back();
    });
    session.reset();
    cleaner.join();
  }
}

// Each thread has its session; tapes are a thread's own.
TEST(EagerSafety, ThreadsWithSessionsOfTheirOwn) {
  const Session first(kSmall);
  const Tensor x = full({64, 64}, 0.5);
  Session second(kSmall);
  const Tensor y = full({64, 64}, 0.25);
  const auto work = [](const Tensor& w, double* result) {
    for (int i = 0; i < 50; ++i) {
      GradientTape tape;
      tape.watch(w);
      *result = sum(tape.gradient(sum(matmul(w, w)), w)).item();
    }
  };
  double from_x = 0, from_y = 0;
  std::thread other(work, x, &from_x);
  work(y, &from_y);
  other.join();
  EXPECT_EQ(from_x, 2 * from_y);
}

}  // namespace
}  // namespace plimsoll
