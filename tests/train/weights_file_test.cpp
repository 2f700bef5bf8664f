// Weights as safetensors files: the same bits back, refusals that name what is
// wrong, and no second copy in memory.
#include "fit_fixture.h"
#include "io/safetensors.h"

namespace plimsoll::train::testing {
namespace {

class WeightsFileTest : public FitTest {
 protected:
  std::string saved(Optimizer optimizer = Adam{}) {
    Sequential made = model(session_, optimizer);
    made.fit(set(), {.epochs = 3});
    made.save_weights(path_);
    kept_ = all_weights(made);
    return path_;
  }
  // The file again with its tensors changed.
  std::string changed(
      const std::function<void(std::vector<io::NamedTensor>&)>& change) {
    const auto file = io::SafetensorsFile::open(path_);
    EXPECT_TRUE(file);
    std::vector<std::vector<std::byte>> bytes;
    std::vector<io::NamedTensor> tensors;
    for (const auto& entry : file->entries()) {
      bytes.emplace_back(static_cast<std::size_t>(entry.bytes));
      EXPECT_TRUE(file->read(entry, bytes.back()));
      tensors.push_back(
          {entry.name, entry.dtype, entry.shape, bytes.back().data(), {}});
    }
    change(tensors);
    const std::string path = folder_ / "changed.safetensors";
    EXPECT_TRUE(io::write_safetensors(path, tensors, {}));
    return path;
  }

  std::string path_ = folder_ / "w.safetensors";
  std::vector<double> kept_;
};

TEST_F(WeightsFileTest, HasTheWeightsOfCheckpointsAndNothingElse) {
  saved();
  const auto file = io::SafetensorsFile::open(path_);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->entries().size(), 8U);  // 4 of dense layers, 4 of the norm
  const auto* kernel = file->find("dense_1/kernel");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->dtype, DType::f32);
  EXPECT_EQ(kernel->shape, (Shape{3, 4}));
  EXPECT_NE(file->find("batch_normalization_1/moving_variance"), nullptr);
}

TEST_F(WeightsFileTest, ATrainedModelTakesThem) {
  saved();
  Sequential other = model(session_, Adam{}, 7);
  other.fit(set());
  EXPECT_NE(all_weights(other), kept_);
  other.load_weights(path_);
  EXPECT_EQ(all_weights(other), kept_);
}

TEST_F(WeightsFileTest, ANewModelPredictsAndTrainsFromThem) {
  Sequential first = model(session_, SGD{});
  first.fit(set(), {.epochs = 3});
  first.save_weights(path_);
  const auto predicted = first.predict(set());
  Sequential other = model(session_, SGD{}, 7);
  other.load_weights(path_);
  std::filesystem::remove(path_);  // it has been opened
  EXPECT_EQ(other.predict(set()), predicted);
  EXPECT_EQ(other.evaluate(set()).loss, first.evaluate(set()).loss);
  EXPECT_EQ(other.fit(set()).loss, first.fit(set()).loss);
  EXPECT_EQ(all_weights(other), all_weights(first));
  // Taken once: a second fit goes on from the first.
  EXPECT_EQ(other.fit(set()).loss, first.fit(set()).loss);
}

// Compiled again, a model is as a new one that has read its file.
TEST_F(WeightsFileTest, CompilingKeepsThem) {
  Sequential first = model(session_, Adam{});
  first.fit(set(), {.epochs = 3});
  first.save_weights(path_);
  const auto predicted = first.predict(set());
  const CompileOptions again{.optimizer = Adam{.learning_rate = 1e-4},
                             .loss = binary_crossentropy};
  Sequential other = model(session_, SGD{}, 7);
  other.load_weights(path_);
  for (Sequential* one : {&first, &other}) one->compile(session_, again);
  first.save_weights(path_);
  EXPECT_EQ(other.predict(set()), predicted);
  EXPECT_EQ(first.fit(set()).loss, other.fit(set()).loss);
  EXPECT_EQ(all_weights(first), all_weights(other));
  CompileOptions wide = again;
  wide.precision = "f64";
  first.fit(set());
  first.compile(session_, wide);
  first.fit(set());
  first.save_weights(path_);
  other.compile(session_, wide);
  other.load_weights(path_);
  other.predict(set());
  EXPECT_EQ(other.predict(set()), first.predict(set()));
}

TEST_F(WeightsFileTest, NothingIsHeldTwice) {
  const std::int64_t before = session_.host_held_bytes();
  saved();
  Sequential other = model(session_);
  const std::int64_t planned = other.plan(set()).host_peak_bytes();
  other.load_weights(path_);
  EXPECT_EQ(session_.host_held_bytes(), before);
  EXPECT_EQ(other.plan(set()).host_peak_bytes(), planned);
  const FitHistory history = other.fit(set());
  EXPECT_EQ(history.forecast_host_bytes, history.measured_host_bytes);
}

TEST_F(WeightsFileTest, SaysWhatIsWrongAndChangesNothing) {
  saved();
  Sequential other = model(session_, Adam{}, 7);
  other.fit(set());
  const auto before = all_weights(other);
  const auto refused = [&](const std::string& path, const char* named,
                           const char* what) {
    const std::string text = bad_input([&] { other.load_weights(path); });
    for (const std::string& part :
         {path, std::string(named), std::string(what)}) {
      EXPECT_TRUE(has(text, part)) << part << ": " << text;
    }
    EXPECT_EQ(all_weights(other), before);
  };
  const auto at = [](std::vector<io::NamedTensor>& tensors,
                     const char* name) -> io::NamedTensor& {
    for (auto& tensor : tensors) {
      if (tensor.name == name) return tensor;
    }
    ADD_FAILURE() << name;
    return tensors[0];
  };
  refused(changed([&](auto& all) { at(all, "dense_2/bias").name = "other"; }),
          "dense_2/bias", "missing");
  refused(changed([&](auto& all) {
            all.push_back(at(all, "dense_2/bias"));
            all.back().name = "dense_9/bias";
          }),
          "dense_9/bias", "not in the model");
  refused(changed([&](auto& all) {
            at(all, "dense_1/kernel").shape = Shape{4, 3};
          }),
          "dense_1/kernel", "f32[4, 3]");
  refused(
      changed([&](auto& all) { at(all, "dense_1/bias").dtype = DType::i32; }),
      "dense_1/bias", "i32[4]");
}

TEST_F(WeightsFileTest, WrongOnesBeforeTheFirstFitAreRefusedByIt) {
  saved();
  const std::string wrong = changed([](auto& all) { all.pop_back(); });
  Sequential other = model(session_, Adam{}, 7);
  other.load_weights(wrong);
  EXPECT_TRUE(has(bad_input([&] { other.fit(set()); }), wrong));
  EXPECT_EQ(session_.host_held_bytes(), 0);
  other.load_weights(path_);
  EXPECT_NO_THROW(other.fit(set()));
}

TEST_F(WeightsFileTest, WhatCannotBeSavedOrReadIsNamed) {
  Sequential made = model(session_);
  EXPECT_TRUE(has(bad_input([&] { made.save_weights(path_); }), "fit()"));
  EXPECT_THROW(made.load_weights(folder_ / "none.safetensors"), Exception);
  made.fit(set());
  EXPECT_THROW(made.save_weights(folder_ / "none/w.safetensors"), Exception);
  Sequential uncompiled{Dense(1)};
  EXPECT_TRUE(
      has(bad_input([&] { uncompiled.load_weights(path_); }), "compile"));
}

TEST_F(FitTest, ADeletedModelGivesEverythingBackAtOnce) {
  auto other = std::make_unique<Sequential>(model(session_));
  other->fit(set());
  const std::int64_t before = session_.host_held_bytes();
  const std::string who = session_.explain();
  EXPECT_GT(before, 0);
  {
    Sequential made = model(session_);
    made.fit(set(), {.epochs = 2});
    made.evaluate(set());
    EXPECT_GT(session_.host_held_bytes(), before);
  }
  EXPECT_EQ(session_.host_held_bytes(), before);
  EXPECT_EQ(session_.explain(), who);
  Sequential moved = std::move(*other);
  other.reset();
  EXPECT_EQ(session_.host_held_bytes(), before) << "moved, not deleted";
  { const Sequential last = std::move(moved); }
  EXPECT_EQ(session_.host_held_bytes(), 0) << session_.explain();
  EXPECT_EQ(session_.explain(), "");
}

}  // namespace
}  // namespace plimsoll::train::testing
