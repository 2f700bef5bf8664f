#include "data/workers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "data/pipeline_threads.h"

namespace plimsoll::data {
namespace {

struct Counter {
  std::atomic<int> ran{0};
  std::atomic<int> sum{0};
  std::atomic<std::uint64_t> lanes{0};  // a bit for each
  std::chrono::microseconds takes{0};

  static void run(void* owner, int item, int lane) {
    auto& counter = *static_cast<Counter*>(owner);
    if (counter.takes.count() > 0) std::this_thread::sleep_for(counter.takes);
    counter.sum += item;
    counter.lanes |= std::uint64_t{1} << lane;
    ++counter.ran;
  }
};

void wait_for(const Counter& counter, int ran) {
  for (int i = 0; i < 5000 && counter.ran < ran; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(counter.ran, ran);
}

TEST(Workers, NoneMeansTheCallerWorks) {
  auto workers = *Workers::create(0);
  Counter counter;
  for (int i = 0; i < 10; ++i) {
    workers->submit({&Counter::run, &counter, i});
    EXPECT_EQ(counter.ran, i + 1);
  }
  EXPECT_EQ(counter.lanes, 1u);
  EXPECT_EQ(workers->lanes(), 1);
}

TEST(Workers, RunEveryTaskOnce) {
  for (const int threads : {1, 2, 8}) {
    Counter counter;
    auto workers = *Workers::create(threads, 16);
    constexpr int kTasks = 20'000;
    for (int i = 0; i < kTasks; ++i) {
      workers->submit({&Counter::run, &counter, i});
    }
    workers->stop();
    EXPECT_EQ(counter.ran, kTasks);
    EXPECT_EQ(counter.sum, kTasks / 2 * (kTasks - 1));
    EXPECT_LT(counter.lanes.load(), 1u << workers->lanes());
  }
}

TEST(Workers, SleepersWakeUp) {
  Counter counter;
  auto workers = *Workers::create(2);
  for (int i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    workers->submit({&Counter::run, &counter, 1});
    wait_for(counter, i + 1);
  }
  EXPECT_EQ(counter.lanes & 4, 0u) << "the caller was not needed";
}

TEST(Workers, TasksAreTakenBack) {
  Counter slow;
  slow.takes = std::chrono::milliseconds(50);
  Counter counter;
  auto workers = *Workers::create(1);
  workers->submit({&Counter::run, &slow, 1});
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  for (int i = 0; i < 10; ++i) workers->submit({&Counter::run, &counter, 1});
  EXPECT_EQ(workers->forget(&counter), 10);
  EXPECT_EQ(workers->forget(&counter), 0);
  workers->stop();
  EXPECT_EQ(counter.ran, 0);
  EXPECT_EQ(slow.ran, 1);
}

TEST(Workers, LeaveNoThread) {
  const int before = pipeline_threads();
  for (int i = 0; i < 20; ++i) {
    auto workers = *Workers::create(3);
    EXPECT_EQ(pipeline_threads(), before + 3);
  }
  EXPECT_EQ(pipeline_threads(), before);
  EXPECT_FALSE(Workers::create(-1));
  EXPECT_FALSE(Workers::create(1, 0));
}

}  // namespace
}  // namespace plimsoll::data
