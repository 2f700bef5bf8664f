// Models whose first layer is an embedding: what a large table costs, what a
// batch touches, and how indices get there.
#include <gtest/gtest.h>

#include <cmath>

#include "base/units.h"
#include "device/shipped_profiles.h"
#include "npy_file.h"
#include "plimsoll/plimsoll.h"
#include "thrown.h"
#include "train/calibration.h"
#include "train/planned_job.h"

namespace plimsoll::train::testing {
namespace {

// Eight indices an example, a table of `rows` by 16, one output.
JobSpec job_of(std::int64_t rows, const std::string& optimizer) {
  JobSpec job;
  job.model.input = {8};
  LayerSpec embedding, flatten, dense;
  embedding.type = "embedding";
  embedding.input_dim = rows;
  embedding.output_dim = 16;
  flatten.type = "flatten";
  dense.type = "dense";
  dense.units = 1;
  dense.activation = "sigmoid";
  job.model.layers = {embedding, flatten, dense};
  job.data.source.name = "random";
  job.data.source.options = {{"examples", std::int64_t{1000}},
                             {"features", std::vector<std::int64_t>{8}},
                             {"labels", std::string("binary")}};
  job.data.pipeline = data::default_pipeline();
  job.train.batch = 32;
  job.train.optimizer.type = optimizer;
  job.train.loss = "binary_crossentropy";
  return job;
}

std::int64_t on(const plan::SpaceForecast& space, Purpose purpose) {
  return space.accounts[static_cast<std::size_t>(purpose)];
}

constexpr std::int64_t kRows = 10'000'000;
constexpr std::int64_t kTableBytes = kRows * 16 * 4;

void expect_small_beside_the_table(const plan::SpaceForecast& space,
                                   std::int64_t slots) {
  EXPECT_GE(on(space, Purpose::parameters), kTableBytes);
  EXPECT_LT(on(space, Purpose::parameters), kTableBytes + 2 * kMiB);
  EXPECT_GE(on(space, Purpose::optimizer), slots * kTableBytes);
  EXPECT_LT(on(space, Purpose::optimizer), slots * kTableBytes + 2 * kMiB);
  for (const Purpose purpose :
       {Purpose::gradients, Purpose::activations, Purpose::scratch}) {
    EXPECT_LT(on(space, purpose), 4 * kMiB) << name_of(purpose);
  }
}

TEST(EmbeddingPlan, HoldsNoGradientOfTheTablesSize) {
  Machine host(*cpu_profile(2, ""));
  Machine device(*cpu_profile(2, ""), *shipped_profile("t4"),
                 ops::CudaSettings{});
  for (const auto& [optimizer, slots] :
       {std::pair{"sgd", 0}, std::pair{"adam", 2}, std::pair{"adamw", 2},
        std::pair{"rmsprop", 1}, std::pair{"adagrad", 1}}) {
    const JobSpec job = job_of(kRows, optimizer);
    const JobData data = *open_data(job, 2);
    const auto on_host = plan_programs(job, data, host);
    ASSERT_TRUE(on_host) << on_host.error().message;
    expect_small_beside_the_table(on_host->plan.host, slots);
    const auto on_device = plan_programs(job, data, device);
    ASSERT_TRUE(on_device) << on_device.error().message;
    ASSERT_TRUE(on_device->plan.device);
    expect_small_beside_the_table(*on_device->plan.device, slots);
  }
}

TEST(EmbeddingPlan, ATableOnTheHostIsUpdatedThere) {
  Machine machine(*cpu_profile(2, ""), *shipped_profile("t4"),
                  ops::CudaSettings{});
  JobSpec job = job_of(kRows, "sgd");
  job.model.layers[0].device = "cpu";
  const auto planned = plan_programs(job, *open_data(job, 2), machine);
  ASSERT_TRUE(planned) << planned.error().message;
  EXPECT_GE(on(planned->plan.host, Purpose::parameters), kTableBytes);
  EXPECT_LT(on(*planned->plan.device, Purpose::parameters), kMiB);
  int updates = 0;
  for (const auto& step : planned->programs[0].lowered.instructions) {
    if (step.transfer) {
      EXPECT_LT(step.output_types[0].bytes(), kMiB) << step.name;
    }
    if (step.op->name != "sgd_rows") continue;
    EXPECT_EQ(step.place, graph::Place::host);
    ++updates;
  }
  EXPECT_EQ(updates, 1);
}

TEST(EmbeddingPlan, AnEmbeddingReadsTheInput) {
  Machine machine(*cpu_profile(1, ""));
  JobSpec job = job_of(10, "sgd");
  std::swap(job.model.layers[0], job.model.layers[2]);
  const auto planned = plan_programs(job, *open_data(job, 1), machine);
  ASSERT_FALSE(planned);
  EXPECT_NE(planned.error().message.find("must read the model's input"),
            std::string::npos)
      << planned.error().message;
}

class EmbeddingModel : public ::testing::Test {
 protected:
  // Trains on examples of two indices each and returns the table.
  template <class T>
  std::vector<double> table(const char* type, std::int64_t rows,
                            const std::vector<T>& indices, Optimizer optimizer,
                            double* loss = nullptr) {
    write_npy(folder_ / "x.npy", type, 2, indices);
    std::vector<float> labels(indices.size() / 2);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      labels[i] = static_cast<float>(i % 2);
    }
    write_npy(folder_ / "y.npy", "<f4", 0, labels);
    Sequential model{Embedding(rows, 3), Flatten(), Dense(1, sigmoid)};
    model.compile(session_,
                  {.optimizer = optimizer, .loss = binary_crossentropy});
    const auto history =
        model.fit(data::from_npy(folder_ / "x.npy", folder_ / "y.npy").batch(4),
                  {.epochs = 2});
    if (loss) *loss = history.loss.back();
    return model.weights("embedding_1/embeddings");
  }

  static bool same_row(const std::vector<double>& a,
                       const std::vector<double>& b, std::int64_t row) {
    const auto at = row * 3;
    return std::equal(a.begin() + at, a.begin() + at + 3, b.begin() + at);
  }

  TestFolder folder_;
  Session session_{{.host = "1GiB", .threads = 2}};
};

TEST_F(EmbeddingModel, TrainingTouchesTheRowsOfItsBatchesAlone) {
  const std::vector<Optimizer> optimizers = {
      SGD{.learning_rate = 0.1},
      SGD{.learning_rate = 0.1, .momentum = 0.9},
      SGD{.learning_rate = 0.1, .momentum = 0.9, .nesterov = true},
      Adam{},
      AdamW{},
      RMSprop{.momentum = 0.9, .centered = true},
      Adagrad{}};
  for (const Optimizer& optimizer : optimizers) {
    const std::vector<std::int32_t> low = {1, 2, 2, 2, 3, 1, 1, 5, 2, 2};
    const std::vector<std::int32_t> high = {11, 12, 13, 11, 11, 15, 12, 19};
    const auto first = table("<i4", 20, low, optimizer);
    const auto second = table("<i4", 20, high, optimizer);
    ASSERT_EQ(first.size(), 60u);
    for (std::int64_t row = 0; row < 20; ++row) {
      const auto in = [&](const std::vector<std::int32_t>& all) {
        return std::find(all.begin(), all.end(), row) != all.end();
      };
      EXPECT_EQ(same_row(first, second, row), !in(low) && !in(high)) << row;
    }
    EXPECT_EQ(table("<i4", 20, low, optimizer), first);
  }
}

// An embedding is a product with one-hot rows, whose weight is updated whole.
TEST_F(EmbeddingModel, WhatLooksAtWholeTablesUpdatesThemWhole) {
  constexpr std::int64_t kTableRows = 6;
  const std::vector<std::int32_t> indices = {1, 2, 2, 4, 1, 1, 4, 2, 1, 2};
  std::vector<float> hot(indices.size() * kTableRows);
  std::vector<float> labels(indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    hot[i * kTableRows + static_cast<std::size_t>(indices[i])] = 1;
    labels[i] = static_cast<float>(i % 3);
  }
  write_npy(folder_ / "indices.npy", "<i4", 1, indices);
  write_npy(folder_ / "hot.npy", "<f4", kTableRows, hot);
  write_npy(folder_ / "y.npy", "<f4", 0, labels);
  const auto trained = [&](Layer first, const char* weight, const char* file,
                           const Optimizer& optimizer) {
    first.name = "first";
    first.use_bias = false;
    first.kernel_initializer = first.embeddings_initializer = "ones";
    Layer last = Dense(1);
    last.kernel_initializer = "ones";
    Sequential model{first, Flatten(), last};
    model.compile(session_,
                  {.optimizer = optimizer, .loss = mean_squared_error});
    model.fit(data::from_npy(folder_ / file, folder_ / "y.npy").batch(4),
              {.epochs = 3});
    return model.weights(weight);
  };
  const std::vector<Optimizer> optimizers = {
      LAMB{.learning_rate = 0.1, .weight_decay = 0.1},
      Adafactor{.learning_rate = 0.1},
      Adam{.learning_rate = 0.1, .clipvalue = 0.2}};
  for (const Optimizer& optimizer : optimizers) {
    const auto table = trained(Embedding(kTableRows, 3), "first/embeddings",
                               "indices.npy", optimizer);
    const auto kernel = trained(Dense(3), "first/kernel", "hot.npy", optimizer);
    ASSERT_EQ(table.size(), kernel.size());
    for (std::size_t i = 0; i < table.size(); ++i) {
      EXPECT_NEAR(table[i], kernel[i], 1e-6) << i;
    }
    EXPECT_NE(table[3], 1);
  }
}

// As an f32, each of these would be its neighbour.
TEST_F(EmbeddingModel, LargeIndicesAreNotRounded) {
  constexpr std::int64_t kStart = 1 << 24;
  constexpr std::int64_t kLarge = kStart + 10;
  const auto ends = [&](const char* type, const auto& indices) {
    auto all = table(type, kLarge, indices, SGD{.learning_rate = 0.1});
    all.erase(all.begin(), all.begin() + kStart * 3);
    return all;
  };
  const auto odd =
      ends("<i8", std::vector<std::int64_t>{kStart + 1, kStart + 3, kStart + 1,
                                            kStart + 5});
  const auto odd_narrow =
      ends("<i4", std::vector<std::int32_t>{kStart + 1, kStart + 3, kStart + 1,
                                            kStart + 5});
  const auto even =
      ends("<u4", std::vector<std::uint32_t>{kStart + 2, kStart + 4, kStart + 2,
                                             kStart + 6});
  EXPECT_EQ(odd, odd_narrow);
  for (std::int64_t row = 0; row < 10; ++row) {
    EXPECT_EQ(same_row(odd, even, row), row == 0 || row > 6) << row;
  }
}

TEST_F(EmbeddingModel, AnIndexOutsideOfTheTableIsNamed) {
  const auto error = [&](const char* type, const auto& indices) {
    return plimsoll::testing::thrown(
        [&] { table(type, 4, indices, SGD{.learning_rate = 0.1}); },
        Failure::io);
  };
  const std::string rows = ", but the embedding that reads it has 4 rows, ";
  EXPECT_NE(error("<i8", std::vector<std::int64_t>{0, 1, 2, 4})
                .find("example 1 has index 4" + rows),
            std::string::npos);
  EXPECT_NE(error("<i8", std::vector<std::int64_t>{0, 1, 1LL << 40, 2})
                .find("example 1 has index 1099511627776" + rows),
            std::string::npos);
  EXPECT_NE(error("<i4", std::vector<std::int32_t>{-1, 1, 2, 3})
                .find("example 0 has index -1" + rows),
            std::string::npos);
  table("<i4", 4, std::vector<std::int32_t>{0, 1, 2, 3}, SGD{});
  // A cast would make rows of these.
  for (const auto& [index, text] :
       {std::pair{1.5F, "1.5"}, std::pair{-0.5F, "-0.5"},
        std::pair{std::nanf(""), "nan"}, std::pair{3.9F, "3.9"}}) {
    EXPECT_NE(error("<f4", std::vector<float>{0, 1, 2, index})
                  .find(std::string("example 1 has index ") + text),
              std::string::npos)
        << text;
  }
  table("<f4", 4, std::vector<float>{0, 1, 2, 3}, SGD{});
}

// Each column is held to the table that reads it.
TEST_F(EmbeddingModel, AnIndexOutsideBehindASliceIsNamed) {
  const auto fit = [&](const std::vector<std::int64_t>& indices) {
    write_npy(folder_ / "x.npy", "<i8", 3, indices);
    write_npy(folder_ / "y.npy", "<f4", 0,
              std::vector<float>(indices.size() / 3, 1));
    const auto x = Input({3});
    const auto rest = Slice(1, 3)(x);  // the first is read by nobody
    const auto users = Flatten()(Embedding(4, 3)(Slice(0, 1)(rest)));
    const auto items = Flatten()(Embedding(9, 3)(Flatten()(Slice(1, 2)(rest))));
    Model model(x, Dense(1, sigmoid)(Concatenate()({users, items})));
    model.compile(session_, {.optimizer = SGD{.learning_rate = 0.1},
                             .loss = binary_crossentropy});
    return model
        .fit(data::from_npy(folder_ / "x.npy", folder_ / "y.npy").batch(4),
             {.epochs = 1})
        .loss.back();
  };
  const auto error = [&](const std::vector<std::int64_t>& indices) {
    return plimsoll::testing::thrown([&] { fit(indices); }, Failure::io);
  };
  EXPECT_FALSE(std::isnan(fit({-1, 3, 8, 99, 0, 0})));
  EXPECT_NE(error({0, 0, 8, 0, 4, 8})
                .find("example 1 has index 4, but the "
                      "embedding that reads it has 4 rows"),
            std::string::npos);
  EXPECT_NE(error({0, 3, 9, 0, 3, 8})
                .find("example 0 has index 9, but the "
                      "embedding that reads it has 9 rows"),
            std::string::npos);
}

TEST_F(EmbeddingModel, AClassThatTheModelLacksIsNamed) {
  write_npy(folder_ / "x.npy", "<f4", 2, std::vector<float>{0, 1, 2, 3});
  Sequential model{Dense(3)};
  model.compile(session_, {.loss = sparse_categorical_crossentropy});
  const auto error = [&](const char* type, const auto& classes) {
    write_npy(folder_ / "y.npy", type, 0, classes);
    const auto data =
        data::from_npy(folder_ / "x.npy", folder_ / "y.npy").batch(4);
    return plimsoll::testing::thrown([&] { model.fit(data, {.epochs = 1}); },
                                     Failure::io);
  };
  const std::string rest = ", but the model has 3 classes, from 0 to 2";
  EXPECT_NE(error("<i4", std::vector<std::int32_t>{2, 3})
                .find("example 1 has class 3" + rest),
            std::string::npos);
  EXPECT_NE(error("<i8", std::vector<std::int64_t>{2, 4294967297})
                .find("example 1 has class 4294967297" + rest),
            std::string::npos);
  EXPECT_NE(error("<u8", std::vector<std::uint64_t>{2, ~std::uint64_t{0}})
                .find("example 1 has class 18446744073709551615" + rest),
            std::string::npos);
  EXPECT_NE(error("<f4", std::vector<float>{0.999F, 2})
                .find("example 0 has class 0.999, but"),
            std::string::npos);
  EXPECT_NE(error("<f4", std::vector<float>{0, std::nanf("")})
                .find("example 1 has class nan" + rest),
            std::string::npos);
}

}  // namespace
}  // namespace plimsoll::train::testing
