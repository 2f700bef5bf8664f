// Data sets as the public interface has them: iterated, saved, explained.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>

#include "data/pipeline_threads.h"
#include "io/temporary_folder.h"
#include "plimsoll/plimsoll.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kExamples = 1000;

class Datasets : public testing::Test {
 protected:
  Datasets() : x_(2 * kExamples), y_(kExamples) {
    for (std::size_t i = 0; i < kExamples; ++i) {
      x_[2 * i] = static_cast<float>(i);
      x_[2 * i + 1] = -static_cast<float>(i);
      y_[i] = static_cast<float>(i);
    }
  }

  data::Dataset arrays() const {
    return data::from_arrays(x_.data(), {2}, y_.data(), {}, kExamples);
  }

  // The labels that are left; features must belong to them.
  static std::vector<float> rest(data::Iterator& iterator) {
    std::vector<float> labels;
    for (;;) {
      const data::ExampleBatch batch = iterator.next();
      if (batch.examples == 0) return labels;
      for (std::int64_t i = 0; i < batch.examples; ++i) {
        EXPECT_EQ(batch.features[2 * i], batch.labels[i]);
        labels.push_back(batch.labels[i]);
      }
    }
  }

  std::vector<float> x_, y_;
  Session session_{{.host = "256MiB", .threads = 2}};
};

TEST_F(Datasets, TheOrderIsTheSameForAnyNumberOfThreads) {
  const auto double_it = [](const float* in, float* out) {
    out[0] = in[0];
    out[1] = 2 * in[1];
  };
  std::vector<std::vector<float>> orders;
  for (const int threads : {1, 2, 8}) {
    Session session({.host = "256MiB", .threads = threads});
    for (const bool stream : {false, true}) {
      data::Dataset set = arrays().shuffle();
      if (stream) set = set.filter([](const float*) { return true; });
      set = set.map({2}, double_it).batch(8).prefetch(2);
      auto iterator = set.iterate(session);
      orders.push_back(rest(iterator));
      EXPECT_EQ(orders.back(), orders.front()) << threads << " " << stream;
    }
  }
  auto sorted = orders.front();
  EXPECT_EQ(sorted.size(), 1000u);
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::unique(sorted.begin(), sorted.end()), sorted.end());
}

TEST_F(Datasets, APositionIsSmallAndGoesOnExactly) {
  std::mt19937 random(20261115);
  const data::Dataset sets[] = {
      arrays().shuffle().batch(7).prefetch(2),
      arrays().shuffle().repeat(2).take(1500).batch(8).prefetch(1),
      arrays()
          .shuffle_window(100)
          .map({2},
               [](const float* in, float* out) { std::copy_n(in, 2, out); })
          .batch(5)
          .prefetch(3),
      arrays().shuffle().cache("2KiB", "/tmp").batch(9).prefetch(1)};
  for (const data::Dataset& set : sets) {
    auto iterator = set.iterate(session_);
    auto other = set.iterate(session_);
    iterator.start(3);
    const auto whole = rest(iterator);
    for (int i = 0; i < 25; ++i) {
      iterator.start(3);
      const int batches = static_cast<int>(random() % (whole.size() / 10));
      std::size_t gone = 0;
      for (int k = 0; k < batches; ++k) {
        gone += static_cast<std::size_t>(iterator.next().examples);
      }
      const std::string position = iterator.position();
      EXPECT_LT(position.size(), 1024u);
      other.restore(position);
      EXPECT_EQ(rest(other),
                std::vector(whole.begin() + static_cast<std::ptrdiff_t>(gone),
                            whole.end()))
          << position;
    }
  }
  auto iterator = sets[0].iterate(session_);
  EXPECT_THROW(iterator.restore("{}"), Exception);
  EXPECT_THROW(iterator.restore("nonsense"), Exception);
  EXPECT_THROW(iterator.restore(R"({"epoch":0,"examples":5000})"), Exception);
}

TEST_F(Datasets, DroppedInMidEpochNothingIsLeftBehind) {
  const int threads = data::pipeline_threads();
  const std::int64_t held = session_.host_held_bytes();
  for (int i = 0; i < 5; ++i) {
    auto iterator = arrays()
                        .shuffle_window(50)
                        .map({2}, [](const float* in,
                                     float* out) { std::copy_n(in, 2, out); })
                        .batch(8)
                        .prefetch(4)
                        .iterate(session_);
    EXPECT_GT(iterator.held_bytes(), 0);
    EXPECT_GT(session_.host_held_bytes(), held);
    for (int k = 0; k < i; ++k) iterator.next();
  }
  EXPECT_EQ(session_.host_held_bytes(), held);
  EXPECT_EQ(data::pipeline_threads(), threads);
}

TEST_F(Datasets, AFailingFunctionNamesItsElementOrIsSkipped) {
  const auto fails = [](const float* in, float* out) {
    if (in[0] == 123) throw std::runtime_error("no good");
    std::copy_n(in, 2, out);
  };
  auto iterator =
      arrays().map({2}, fails).batch(8).prefetch(2).iterate(session_);
  try {
    rest(iterator);
    FAIL();
  } catch (const Exception& error) {
    EXPECT_EQ(std::string(error.what()), "element 123: map: no good");
  }
  auto skipping = arrays()
                      .map({2}, fails)
                      .skip_errors()
                      .batch(9)
                      .prefetch(2)
                      .iterate(session_);
  EXPECT_EQ(rest(skipping).size(), 999u);
  EXPECT_EQ(skipping.skipped(), 1);
  // The whole set is still shuffled, not a window of it.
  auto shuffled = arrays().shuffle().skip_errors().batch(8).iterate(session_);
  auto plain = arrays().shuffle().batch(8).iterate(session_);
  EXPECT_EQ(rest(shuffled), rest(plain));
}

TEST_F(Datasets, ThePlantedDelayIsTheBottleneck) {
  const auto slow = [](const float* in, float* out) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::copy_n(in, 2, out);
  };
  const data::Dataset set = arrays()
                                .shuffle()
                                .stage("scale", {{"factor", 1.0}})
                                .map({2}, slow)
                                .batch(4)
                                .autotune();
  const std::string text = set.explain(session_);
  EXPECT_NE(text.find("`map` takes the most"), std::string::npos) << text;
  // It waits rather than works: more readers than cores are of use.
  EXPECT_NE(text.find("most of it is waiting"), std::string::npos) << text;
  const std::string json = set.explain_json(session_);
  EXPECT_NE(json.find("\"bottleneck\": \"map\""), std::string::npos) << json;
}

TEST_F(Datasets, AShareThatIsTooSmallIsRefused) {
  const data::Dataset set = arrays().shuffle().batch(1000).prefetch(2);
  EXPECT_LE(set.share("40KiB").iterate(session_).held_bytes(), 40 * 1024);
  try {
    set.share("4KiB").iterate(session_);
    FAIL();
  } catch (const Exception& error) {
    EXPECT_NE(std::string(error.what()).find("least share that works"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(Datasets, MappedFilesAreNotTakenForArrays) {
  TemporaryFolder folder;
  const std::string path = folder.file("x.bin");
  constexpr std::size_t kBytes = 2 << 20;
  std::filesystem::resize_file((std::ofstream(path) << "x", path), kBytes);
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  void* const mapped =
      mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE, fileno(file), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const auto* const x = static_cast<const float*>(mapped);
  try {
    data::from_arrays(x, {512}, y_.data(), {}, 1024).iterate(session_);
    FAIL();
  } catch (const Exception& error) {
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos);
  }
  munmap(mapped, kBytes);
  std::fclose(file);
}

TEST_F(Datasets, UnknownNamesAreRefused) {
  EXPECT_THROW(arrays().stage("shufle").iterate(session_), Exception);
  EXPECT_THROW(
      arrays().stage("take", {{"cuont", std::int64_t{3}}}).iterate(session_),
      Exception);
  EXPECT_THROW(data::from("cvs", {}).iterate(session_), Exception);
  EXPECT_THROW(data::from("csv", {}).iterate(session_), Exception);
}

TEST_F(Datasets, AreJoined) {
  const data::Dataset first = arrays().take(100);
  const data::Dataset second =
      arrays().skip(900).filter([](const float* x) { return x[0] < 950; });
  std::vector<float> in_a_row(150);
  std::iota(in_a_row.begin(), in_a_row.begin() + 100, 0.0F);
  std::iota(in_a_row.begin() + 100, in_a_row.end(), 900.0F);
  auto both = data::concatenate({first, second}).batch(7).iterate(session_);
  EXPECT_EQ(rest(both), in_a_row);

  auto turns =
      data::interleave({first, second}, 2, 3).batch(7).iterate(session_);
  const std::vector<float> mixed = rest(turns);
  EXPECT_EQ(std::vector<float>(mixed.begin(), mixed.begin() + 9),
            (std::vector<float>{0, 1, 2, 900, 901, 902, 3, 4, 5}));
  EXPECT_EQ(mixed.size(), 150u);

  // Features of the first, labels of the second.
  auto beside = data::zip({first, arrays().skip(500)})
                    .stage("rename", {{"field", "labels"}, {"to", "old"}})
                    .stage("rename", {{"field", "labels_2"}, {"to", "labels"}})
                    .batch(64)
                    .iterate(session_);
  const data::ExampleBatch batch = beside.next();
  ASSERT_EQ(batch.examples, 64);
  EXPECT_EQ(batch.features[2 * 63], 63);
  EXPECT_EQ(batch.labels[63], 563);
}

TEST_F(Datasets, AFunctionGivesExamples) {
  const auto count_to = [](std::int64_t end) {
    return [end](std::int64_t index, float* features, float* labels) {
      if (index == end) return false;
      features[0] = features[1] = labels[0] = static_cast<float>(index);
      return true;
    };
  };
  const data::Dataset set =
      data::from_generator({2}, {}, count_to(100)).batch(8);
  auto iterator = set.iterate(session_);
  for (int i = 0; i < 5; ++i) iterator.next();
  const std::string position = iterator.position();
  const std::vector<float> left = rest(iterator);
  EXPECT_EQ(left.front(), 40);
  EXPECT_EQ(left.size(), 60u);
  auto again = set.iterate(session_);
  again.restore(position);
  EXPECT_EQ(rest(again), left);
}

TEST_F(Datasets, LinesArePaddedToOneShape) {
  TemporaryFolder folder;
  std::ofstream(folder.file("x.txt")) << "ab\n\nabc\n";
  std::ofstream(folder.file("y.txt")) << "1\n0\n1\n";
  const auto lines = [&](const char* name) {
    return data::from("lines", {{"files", folder.file(name)}});
  };
  auto iterator =
      data::zip({lines("x.txt"),
                 lines("y.txt").stage("parse_number", {{"to", "f32"}})})
          .padded_batch(3, {4}, 32)
          .iterate(session_);
  const data::ExampleBatch batch = iterator.next();
  ASSERT_EQ(batch.examples, 3);
  EXPECT_EQ(std::vector<float>(batch.features, batch.features + 12),
            (std::vector<float>{'a', 'b', ' ', ' ', ' ', ' ', ' ', ' ', 'a',
                                'b', 'c', ' '}));
  EXPECT_EQ(batch.labels[0], 1);
  EXPECT_EQ(batch.labels[1], 0);
}

TEST_F(Datasets, UnorderedElementsAreAllThere) {
  auto iterator = arrays()
                      .filter([](const float*) { return true; })
                      .map({2},
                           [](const float* in, float* out) {
                             out[0] = in[0];
                             out[1] = in[1];
                           })
                      .unordered()
                      .batch(8)
                      .iterate(session_);
  std::vector<float> labels = rest(iterator);
  std::sort(labels.begin(), labels.end());
  EXPECT_EQ(labels, y_);
}

TEST_F(Datasets, WhatIsLeftOutHasItsDefault) {
  auto cached = arrays().cache("1MiB").iterate(session_);
  EXPECT_EQ(rest(cached), y_);
  auto single = data::random(40, {2}, data::Dataset::Labels::uniform)
                    .batch(40)
                    .iterate(session_);
  EXPECT_EQ(single.next().examples, 40);
}

TEST_F(Datasets, OptionsAreCheckedAsInJobFiles) {
  const std::pair<data::Dataset, const char*> cases[] = {
      {arrays().share("nonsense"),
       "share: size \"nonsense\" does not start with a number"},
      {arrays().take(0),
       "take: `count`: must be an integer from 1 to 1000000000000000000, not "
       "0"},
      {arrays().stage("take", {{"count", 2.5}}),
       "take: `count`: must be an integer from 1 to 1000000000000000000, not "
       "a number"},
      {arrays().stage("shuffle", {{"mode", "exactly"}}),
       "shuffle: `mode`: there is no `exactly`; there are `auto`, `exact`, "
       "`blocks`, `window`"},
      {data::zip({}), "zip: needs the sources that it joins"},
  };
  for (const auto& [set, wrong] : cases) {
    try {
      set.iterate(session_);
      ADD_FAILURE() << wrong;
    } catch (const std::exception& thrown) {
      EXPECT_NE(std::string(thrown.what()).find(wrong), std::string::npos)
          << thrown.what();
    }
  }
}

TEST_F(Datasets, AModelTrainsOnAPipeline) {
  Sequential model{Dense(1)};
  model.compile(session_, {.optimizer = Adam{}, .loss = mean_squared_error});
  const auto data = arrays()
                        .shuffle()
                        .map({2},
                             [](const float* in, float* out) {
                               out[0] = in[0] / kExamples;
                               out[1] = 1;
                             })
                        .batch(10)
                        .prefetch(1);
  const auto history = model.fit(data, {.epochs = 2});
  ASSERT_EQ(history.loss.size(), 2u);
  EXPECT_LT(history.loss[1], history.loss[0]);
}

}  // namespace
}  // namespace plimsoll
