// Batches of an iterator as tensors: read where they lie for as long as the
// iterator stands there, and copied for whoever holds them longer.
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <thread>

#include "plimsoll/plimsoll.h"
#include "thrown.h"
#include "train/session_state.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::thrown;

constexpr std::int64_t kWidth = 1000;
constexpr std::int64_t kExamples = 250;
constexpr std::int64_t kBatch = 32;  // 125 KiB of features; the last has 26

class TensorBatches : public ::testing::Test {
 protected:
  TensorBatches() : x_(1 + kExamples * kWidth), y_(kExamples) {
    std::iota(x_.begin(), x_.end(), 0.0f);
    std::iota(y_.begin(), y_.end(), 0.5f);
  }

  // Features lie at an odd address.
  data::Dataset arrays() const {
    return data::from_arrays(x_.data() + 1, {kWidth}, y_.data(), {1},
                             kExamples);
  }

  // Read in the arrays, small and large, from slots of readers, and a stream.
  std::vector<data::Dataset> sets() const {
    const auto copies = [](const float* in, float* out) {
      std::copy_n(in, kWidth, out);
    };
    return {
        arrays().batch(kBatch),
        arrays().batch(4),
        arrays().shuffle().batch(kBatch).prefetch(2),
        arrays().map({kWidth}, copies).batch(kBatch),
        arrays().shuffle_window(20).batch(kBatch).prefetch(1),
    };
  }

  std::int64_t live_bytes() const {
    return session_.state().eager()->pool().live_bytes();
  }

  void spoil_arrays() {
    std::fill(x_.begin(), x_.end(), -1.0f);
    std::fill(y_.begin(), y_.end(), -1.0f);
  }

  std::vector<float> x_, y_;
  Session session_{{.host = "256MiB", .threads = 2}};
};

TEST_F(TensorBatches, HaveTheNumbersForAsLongAsTheyAreHeld) {
  for (const data::Dataset& set : sets()) {
    std::vector<std::vector<float>> features, labels;
    auto plain = set.iterate(session_);
    for (auto batch = plain.next(); batch.examples > 0; batch = plain.next()) {
      features.emplace_back(batch.features,
                            batch.features + batch.examples * kWidth);
      labels.emplace_back(batch.labels, batch.labels + batch.examples);
    }
    std::vector<data::TensorBatch> held;
    {
      auto iterator = set.iterate(session_);
      while (const auto batch = iterator.next_tensors()) {
        EXPECT_EQ(batch.features.to_floats(), features[held.size()]);
        held.push_back(batch);
      }
      ASSERT_EQ(held.size(), features.size());
      // The last one in the middle of an epoch.
      iterator.start(0);
      held.push_back(iterator.next_tensors());
      features.push_back(features[0]);
      labels.push_back(labels[0]);
    }
    const std::vector<float> x = x_, y = y_;
    spoil_arrays();
    for (std::size_t i = 0; i < held.size(); ++i) {
      EXPECT_EQ(held[i].features.to_floats(), features[i]) << i;
      EXPECT_EQ(held[i].labels.to_floats(), labels[i]) << i;
    }
    x_ = x;
    y_ = y;
  }
}

TEST_F(TensorBatches, AreCopiedBeforeTheIteratorGoesElsewhere) {
  const auto set = arrays().batch(kBatch);
  const std::vector<float> first(x_.begin() + 1,
                                 x_.begin() + 1 + kBatch * kWidth);
  const std::function<void(data::Iterator&)> ways[] = {
      [](data::Iterator& it) { it.next(); },
      [](data::Iterator& it) { it.next_tensors(); },
      [](data::Iterator& it) { it.start(1); },
      [](data::Iterator& it) { it.restore(it.position()); },
      [&](data::Iterator& it) { it = set.iterate(session_); },
  };
  for (const auto& leave : ways) {
    auto iterator = set.iterate(session_);
    const Tensor held = iterator.next_tensors().features;
    leave(iterator);
    const std::vector<float> x = x_;
    spoil_arrays();
    EXPECT_EQ(held.to_floats(), first) << &leave - ways;
    x_ = x;
  }
}

// A view has its address for good, and a variable is written to.
TEST_F(TensorBatches, ViewsAndVariablesHaveMemoryOfTheirOwn) {
  const std::vector<float> x = x_;
  std::optional<data::Iterator> iterator =
      arrays().batch(kBatch).iterate(session_);
  const Tensor view =
      iterator->next_tensors().features.reshape({kWidth, kBatch});
  const Tensor down = full({kBatch, kWidth}, -1);
  const auto add_one = [&](const Variable& to) {
    OptimizerState(SGD{.learning_rate = 1}).apply_gradients({down}, {to});
  };
  const Variable taken(iterator->next_tensors().features, "taken");
  add_one(taken);
  const data::TensorBatch shared = iterator->next_tensors();
  const Variable copied(shared.features, "copied");
  add_one(copied);
  EXPECT_EQ(x_, x);
  EXPECT_EQ(shared.features.to_floats()[0], x[1 + 2 * kBatch * kWidth]);
  iterator.reset();
  spoil_arrays();
  EXPECT_EQ(view.to_floats()[5], x[6]);
  EXPECT_EQ(taken.value().to_floats()[0], x[1 + kBatch * kWidth] + 1);
  EXPECT_EQ(copied.value().to_floats()[0], x[1 + 2 * kBatch * kWidth] + 1);
}

// Wherever a batch lies, and at whatever address, the bits are the same.
TEST_F(TensorBatches, OpsGiveTheSameBitsAsOnCopies) {
  const Tensor w = random_normal({kWidth, 3}, 1, 0, 0.05);
  const auto made = [&](const Tensor& x) {
    return sum(softmax(matmul(x * 1e-3, w)) + mean(exp(x * -1e-3))) + max(x);
  };
  auto traced = function([&](const Tensor& x) { return made(x); });
  auto iterator = arrays().batch(kBatch).iterate(session_);
  while (const auto batch = iterator.next_tensors()) {
    const Tensor copy =
        Tensor::of(batch.features.to_floats(), batch.features.shape());
    EXPECT_EQ(made(batch.features).item(), made(copy).item());
    EXPECT_EQ(traced(batch.features).item(), traced(copy).item());
  }
  EXPECT_EQ(traced.traces(), 1);
}

TEST_F(TensorBatches, GoBackToThePoolWithTheirLastHandle) {
  for (const data::Dataset& set : sets()) {
    auto iterator = set.iterate(session_);
    const std::int64_t before = live_bytes();
    data::TensorBatch batch = iterator.next_tensors();
    const std::int64_t one = live_bytes() - before;
    EXPECT_GE(one, batch.features.bytes() + batch.labels.bytes());
    EXPECT_LE(one, batch.features.bytes() + batch.labels.bytes() + 128);
    EXPECT_THAT(session_.explain(), HasSubstr("eager"));
    iterator.next();
    EXPECT_EQ(live_bytes(), before + one);
    batch = {};
    EXPECT_EQ(live_bytes(), before);
    // A handle that goes on another thread, while the iterator stands there.
    batch = iterator.next_tensors();
    std::thread([last = std::exchange(batch, {})]() mutable {
      last = {};
    }).join();
    EXPECT_EQ(live_bytes(), before);
  }
}

TEST_F(TensorBatches, OfAClosedSessionSaySo) {
  std::optional<data::Iterator> iterator =
      arrays().shuffle().batch(kBatch).prefetch(2).iterate(session_);
  const data::TensorBatch batch = iterator->next_tensors();
  session_.close();
  EXPECT_THAT(thrown([&] { batch.features.to_floats(); }),
              HasSubstr("session of this tensor is closed"));
  EXPECT_THAT(thrown([&] { batch.features.reshape({-1}); }),
              HasSubstr("session of this tensor is closed"));
  EXPECT_THAT(thrown([&] { iterator->next_tensors(); }),
              HasSubstr("the iterator's session is closed"));
  iterator.reset();
}

// The memory is taken with the tensor, not when the numbers move there.
TEST_F(TensorBatches, AreRefusedInWordsAndNoBatchIsLost) {
  Session small({.host = "192MiB", .threads = 1});
  auto iterator = arrays().repeat(1000).batch(kBatch).iterate(small);
  const Scope scope("collected");
  std::vector<data::TensorBatch> held;
  const auto collect = [&] {
    while (held.size() < 4000) held.push_back(iterator.next_tensors());
  };
  const std::string refusal = thrown(collect, Failure::over_budget);
  EXPECT_THAT(refusal, AllOf(HasSubstr("collected"), HasSubstr("over")));
  ASSERT_GT(held.size(), 8u);
  EXPECT_LE(small.host_held_bytes(), small.host_budget_bytes());
  const float last = held.back().labels.to_floats().back();
  held.erase(held.begin(), held.begin() + 8);
  const float next = iterator.next_tensors().labels.to_floats()[0];
  EXPECT_EQ(next, last + 1 == 0.5f + kExamples ? 0.5f : last + 1);
}

}  // namespace
}  // namespace plimsoll
