// Callbacks around fit(): Keras's rules, and a model that stays usable
// whatever they do.
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "fit_fixture.h"

namespace plimsoll::train::testing {
namespace {

using Callbacks = std::vector<std::shared_ptr<Callback>>;

class CallbacksTest : public FitTest {
 protected:
  static std::shared_ptr<Callback> at_epoch_end(
      std::function<void(FitControl&, std::int64_t, const Logs&)> action) {
    return std::make_shared<LambdaCallback>(
        LambdaFunctions{.on_epoch_end = std::move(action)});
  }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::size_t files_in_folder() const {
    const std::filesystem::directory_iterator files(folder_ / "");
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }
};

TEST_F(CallbacksTest, AreCalledInOrderWithTheHistorysValues) {
  Sequential made = model(session_);
  std::string calls;
  std::vector<Logs> seen;
  const auto callback = std::make_shared<LambdaCallback>(LambdaFunctions{
      .on_train_begin = [&](FitControl&) { calls += "("; },
      .on_epoch_begin =
          [&](FitControl&, std::int64_t epoch) {
            calls += "b" + std::to_string(epoch);
          },
      .on_epoch_end =
          [&](FitControl& fit, std::int64_t epoch, const Logs& logs) {
            calls += "e" + std::to_string(epoch);
            seen.push_back(logs);
            const auto names = fit.log_names();
            EXPECT_EQ(names.size(), logs.size());
            for (const auto& name : names) EXPECT_EQ(logs.count(name), 1U);
          },
      .on_train_end =
          [&](FitControl&, const Logs& logs) {
            calls += ")";
            EXPECT_EQ(logs, seen.back());
          }});
  const data::Dataset held_out = set(9);
  const FitHistory history = made.fit(
      set(), {.epochs = 2, .validation = &held_out, .callbacks = {callback}});
  EXPECT_EQ(calls, "(b1e1b2e2)");
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[1].at("loss"), history.loss[1]);
  EXPECT_EQ(seen[1].at("val_loss"), history.metrics.at("val_loss")[1]);
  EXPECT_EQ(seen[1].at("val_accuracy"), history.metrics.at("val_accuracy")[1]);
  EXPECT_FLOAT_EQ(static_cast<float>(seen[0].at("learning_rate")), 0.001F);
}

// The next update would set it again.
TEST_F(CallbacksTest, ARateThatFollowsAScheduleCannotBeSet) {
  Sequential made{Dense(1)};
  made.compile(session_,
               {.optimizer = SGD{.learning_rate = ExponentialDecay{}}});
  const auto callback =
      at_epoch_end([](FitControl& fit, std::int64_t, const Logs&) {
        fit.set_learning_rate(0.5);
      });
  try {
    made.fit(set(), {.epochs = 1, .callbacks = {callback}});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Exception& refused) {
    EXPECT_NE(std::string(refused.what()).find("follows exponential_decay"),
              std::string::npos)
        << refused.what();
  }
}

TEST_F(CallbacksTest, EarlyStoppingRestoresTheBestWeightsFromAFile) {
  // After three epochs the rate is so large that the loss gets worse.
  const auto spoil = [](FitControl& fit, std::int64_t epoch, const Logs&) {
    if (epoch == 3) fit.set_learning_rate(3);
  };
  Sequential three = model(session_);
  three.fit(set(), {.epochs = 3});
  const std::string folder = folder_ / "best";
  const auto stopping = std::make_shared<EarlyStopping>(
      EarlyStoppingOptions{.monitor = "loss",
                           .patience = 2,
                           .restore_best_weights = true,
                           .folder = folder});
  Sequential made = model(session_);
  const FitHistory history = made.fit(
      set(), {.epochs = 50, .callbacks = {at_epoch_end(spoil), stopping}});
  EXPECT_EQ(stopping->best_epoch(), 3);
  EXPECT_EQ(stopping->stopped_epoch(), 5);
  EXPECT_EQ(history.loss.size(), 5U);
  EXPECT_EQ(all_weights(made), all_weights(three));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  EXPECT_EQ(history.forecast_host_bytes, history.measured_host_bytes);
}

TEST_F(CallbacksTest, EarlyStoppingKnowsWhichWayIsBetter) {
  Sequential made = model(session_);
  const auto stopping = std::make_shared<EarlyStopping>(EarlyStoppingOptions{
      .monitor = "accuracy", .min_delta = 2, .patience = 3});
  const FitHistory history =
      made.fit(set(), {.epochs = 20, .callbacks = {stopping}});
  EXPECT_EQ(history.loss.size(), 4U);  // the first is the best by 2
  EXPECT_THROW(EarlyStopping({.mode = "least"}), Exception);
  const std::string text = bad_input([&] {
    made.fit(set(), {.callbacks = {std::make_shared<EarlyStopping>()}});
  });
  EXPECT_TRUE(has(text, "val_loss") && has(text, "validation")) << text;
}

TEST_F(CallbacksTest, ModelCheckpointNamesFilesByEpochAndLogs) {
  Sequential made = model(session_, SGD{});
  const auto all = std::make_shared<ModelCheckpoint>(ModelCheckpointOptions{
      .filepath = folder_ / "all/{epoch:02d}-{loss:.2f}.safetensors"});
  // The rate grows such that the first epoch stays the best.
  const auto best = std::make_shared<ModelCheckpoint>(
      ModelCheckpointOptions{.filepath = folder_ / "best-{epoch}.safetensors",
                             .monitor = "loss",
                             .save_best_only = true,
                             .save_weights_only = true});
  const auto spoil = [](FitControl& fit, std::int64_t, const Logs&) {
    fit.set_learning_rate(50);
  };
  std::vector<double> after_first;
  const FitHistory history = made.fit(
      set(), {.epochs = 3, .callbacks = {all, best, at_epoch_end(spoil)}});
  for (std::size_t i = 0; i < 3; ++i) {
    char name[64];
    std::snprintf(name, sizeof name, "all/%02d-%.2f.safetensors",
                  static_cast<int>(i + 1), history.loss[i]);
    EXPECT_TRUE(std::filesystem::exists(folder_ / name)) << name;
  }
  ASSERT_TRUE(std::filesystem::exists(folder_ / "best-1.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "best-2.safetensors"));
  Sequential one = model(session_, SGD{});
  one.fit(set());
  made.load_weights(folder_ / "best-1.safetensors");
  EXPECT_EQ(all_weights(made), all_weights(one));
  // The other kind holds the same weights among all states.
  char first[64];
  std::snprintf(first, sizeof first, "all/01-%.2f.safetensors",
                history.loss[0]);
  Sequential whole = model(session_, SGD{}, 7);
  whole.fit(set());
  whole.load_weights(folder_ / first);
  EXPECT_EQ(all_weights(whole), all_weights(one));
}

TEST_F(CallbacksTest, ModelCheckpointRefusesFieldsThatAreNotThere) {
  Sequential made = model(session_);
  const auto refused = [&](const char* filepath) {
    const auto callback = std::make_shared<ModelCheckpoint>(
        ModelCheckpointOptions{.filepath = filepath});
    const std::string text =
        bad_input([&] { made.fit(set(), {.callbacks = {callback}}); });
    EXPECT_TRUE(has(text, filepath) && has(text, "accuracy")) << text;
  };
  refused("{val_loss}.safetensors");
  refused("{loss:d}.safetensors");
  refused("{epoch.safetensors");
  EXPECT_THROW(ModelCheckpoint({.filepath = ""}), Exception);
}

// Ends the process in its third epoch, as a kill would.
void train_and_die(const data::Dataset& data, const std::string& folder,
                   Callbacks others) {
  Session session{{.host = "1GiB", .threads = 2}};
  Sequential made{Dense(8, relu), Dropout(0.25), Dense(1, sigmoid)};
  made.compile(session, {.loss = binary_crossentropy});
  others.push_back(std::make_shared<BackupAndRestore>(folder));
  others.push_back(std::make_shared<LambdaCallback>(
      LambdaFunctions{.on_epoch_begin = [](FitControl&, std::int64_t epoch) {
        if (epoch == 4) _exit(9);
      }}));
  made.fit(data, {.epochs = 6, .callbacks = others});
}

TEST_F(CallbacksTest, AnInterruptedFitGoesOnWithTheSameBits) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // The folder must be the same in the child, which runs this test again.
  const std::string folder = ::testing::TempDir() + "plimsoll_backup_test";
  const auto data = set(16).shuffle();
  const auto slower = [&] {
    return at_epoch_end([](FitControl& fit, std::int64_t, const Logs&) {
      fit.set_learning_rate(fit.learning_rate() / 2);
    });
  };
  EXPECT_EXIT(train_and_die(data, folder, {slower()}),
              ::testing::ExitedWithCode(9), "");
  ASSERT_TRUE(std::filesystem::exists(folder + "/backup.safetensors"));
  const auto fit = [&](Callbacks callbacks) {
    Sequential made{Dense(8, relu), Dropout(0.25), Dense(1, sigmoid)};
    made.compile(session_, {.loss = binary_crossentropy});
    const FitHistory history =
        made.fit(data, {.epochs = 6, .callbacks = std::move(callbacks)});
    return std::pair(history.loss, made.weights("dense_1/kernel"));
  };
  std::vector<std::int64_t> epochs;
  const auto resumed =
      fit({slower(), std::make_shared<BackupAndRestore>(folder),
           at_epoch_end([&](FitControl&, std::int64_t epoch, const Logs&) {
             epochs.push_back(epoch);
           })});
  EXPECT_EQ(epochs, (std::vector<std::int64_t>{4, 5, 6}));
  EXPECT_EQ(resumed, fit({slower()}));
  EXPECT_FALSE(std::filesystem::exists(folder + "/backup.safetensors"));
  std::filesystem::remove_all(folder);
}

TEST_F(CallbacksTest, ReduceLROnPlateauFollowsKerass) {
  const auto rates = [&](ReduceLROnPlateauOptions options) {
    Sequential made = model(session_, SGD{.learning_rate = 0.5});
    std::vector<double> seen;
    made.fit(set(), {.epochs = 8,
                     .callbacks = {std::make_shared<ReduceLROnPlateau>(options),
                                   at_epoch_end([&](FitControl&, std::int64_t,
                                                    const Logs& logs) {
                                     seen.push_back(logs.at("learning_rate"));
                                   })}});
    return seen;
  };
  // Nothing is better by 1e9: the first epoch stays the best.
  EXPECT_EQ(
      rates({.monitor = "loss",
             .factor = 0.5,
             .patience = 2,
             .min_delta = 1e9,
             .min_lr = 0.125}),
      (std::vector<double>{0.5, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125, 0.125}));
  // With a cooldown of 2, as Keras 3 has it: its last epoch counts again.
  EXPECT_EQ(rates({.monitor = "loss",
                   .factor = 0.5,
                   .patience = 1,
                   .min_delta = 1e9,
                   .cooldown = 2}),
            (std::vector<double>{0.5, 0.5, 0.25, 0.25, 0.125, 0.125, 0.0625,
                                 0.0625}));
  EXPECT_THROW(ReduceLROnPlateau({.factor = 1}), Exception);
}

TEST_F(CallbacksTest, CSVLoggerWritesALineAnEpoch) {
  Sequential made = model(session_);
  const std::string path = folder_ / "log.csv";
  const FitHistory history = made.fit(
      set(), {.epochs = 2, .callbacks = {std::make_shared<CSVLogger>(path)}});
  made.fit(set(),
           {.callbacks = {std::make_shared<CSVLogger>(path, ',', true)}});
  std::istringstream lines(text_of(path));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "epoch,accuracy,learning_rate,loss");
  std::getline(lines, line);
  EXPECT_EQ(line.substr(0, 2), "1,");
  EXPECT_EQ(std::stod(line.substr(line.rfind(',') + 1)), history.loss[0]);
  std::getline(lines, line);
  EXPECT_EQ(line.substr(0, 2), "2,");
  std::getline(lines, line);
  EXPECT_EQ(line.substr(0, 2), "1,") << "appended, without the names";
  EXPECT_FALSE(std::getline(lines, line));
}

TEST_F(CallbacksTest, TerminateOnNaNEndsTraining) {
  Sequential made{Dense(1)};
  made.compile(session_, {.optimizer = SGD{.learning_rate = 1e30}});
  const FitHistory history = made.fit(
      set(),
      {.epochs = 100, .callbacks = {std::make_shared<TerminateOnNaN>()}});
  EXPECT_LT(history.loss.size(), 10U);
}

TEST_F(CallbacksTest, TensorBoardWritesScalars) {
  Sequential made = model(session_);
  made.fit(set(), {.epochs = 2,
                   .callbacks = {std::make_shared<TensorBoard>(folder_ / "")}});
  ASSERT_EQ(files_in_folder(), 1U);
  const auto file = *std::filesystem::directory_iterator(folder_ / "");
  const std::string text = text_of(file.path().string());
  EXPECT_TRUE(has(text, "epoch_loss") && has(text, "epoch_accuracy"));
}

TEST_F(CallbacksTest, StoppingEndsTheEpochOnlyFromInsideIt) {
  Sequential made = model(session_);
  const auto stop = [](FitControl& fit, std::int64_t epoch, const auto&...) {
    if (epoch == 2) fit.stop_training();
  };
  EXPECT_EQ(made.fit(set(), {.epochs = 9, .callbacks = {at_epoch_end(stop)}})
                .loss.size(),
            2U);
  const auto before =
      std::make_shared<LambdaCallback>(LambdaFunctions{.on_epoch_begin = stop});
  EXPECT_EQ(made.fit(set(), {.epochs = 9, .callbacks = {before}}).loss.size(),
            1U);
}

TEST_F(CallbacksTest, WhatTheyThrowLeavesTheModelUsable) {
  const auto thrown = [](auto&&...) { throw std::runtime_error("enough"); };
  const LambdaFunctions each[] = {{.on_train_begin = thrown},
                                  {.on_epoch_begin = thrown},
                                  {.on_epoch_end = thrown},
                                  {.on_train_end = thrown}};
  Sequential reference = model(session_);
  reference.fit(set());
  const std::int64_t held = session_.host_held_bytes();
  for (const LambdaFunctions& functions : each) {
    {
      Sequential made = model(session_);
      EXPECT_THROW(
          made.fit(
              set(),
              {.callbacks = {std::make_shared<LambdaCallback>(functions)}}),
          std::runtime_error);
      EXPECT_EQ(session_.host_held_bytes(), 2 * held) << "its weights";
      EXPECT_NO_THROW(made.fit(set()));
      EXPECT_NO_THROW(made.evaluate(set()));
    }
    EXPECT_EQ(session_.host_held_bytes(), held) << session_.explain();
  }
}

TEST_F(CallbacksTest, TheModelIsNotTrainedInsideItsOwnTraining) {
  Sequential made = model(session_);
  const std::function<void()> actions[] = {
      [&] { made.fit(set()); }, [&] { made.evaluate(set()); },
      [&] { made.predict(set()); }, [&] { made.compile(session_); }};
  for (const auto& action : actions) {
    const auto inside =
        at_epoch_end([&](FitControl&, std::int64_t, const Logs&) { action(); });
    EXPECT_TRUE(has(
        bad_input([&] { made.fit(set(), {.callbacks = {inside}}); }), "fit()"));
  }
  EXPECT_TRUE(has(bad_input([&] { made.fit(set(), {.callbacks = {nullptr}}); }),
                  "null"));
}

}  // namespace
}  // namespace plimsoll::train::testing
