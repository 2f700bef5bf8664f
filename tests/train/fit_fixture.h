// A small model with data, for tests of what stands around fit().
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "npy_file.h"
#include "plimsoll/plimsoll.h"

namespace plimsoll::train::testing {

class FitTest : public ::testing::Test {
 protected:
  FitTest() {
    for (int i = 0; i < kExamples * kFeatures; ++i) {
      x_.push_back(static_cast<float>((i * 37 % 101) - 50) / 50);
    }
    for (int i = 0; i < kExamples; ++i) y_.push_back(static_cast<float>(i % 2));
  }

  static constexpr int kExamples = 70;
  static constexpr int kFeatures = 3;

  data::Dataset set(std::int64_t batch = 32) const {
    return data::from_arrays(x_.data(), {kFeatures}, y_.data(), {}, kExamples)
        .batch(batch);
  }
  static Sequential model(Session& session, Optimizer optimizer = Adam{},
                          std::int64_t seed = 1) {
    Sequential made{Dense(4, relu), BatchNormalization(), Dense(1, sigmoid)};
    made.compile(session, {.optimizer = optimizer,
                           .loss = binary_crossentropy,
                           .metrics = {"accuracy"},
                           .seed = seed});
    return made;
  }
  // Parameters and statistics, one after the other.
  static std::vector<double> all_weights(const Model& model) {
    std::vector<double> all;
    for (const char* name :
         {"dense_1/kernel", "dense_1/bias", "batch_normalization_1/gamma",
          "batch_normalization_1/moving_mean",
          "batch_normalization_1/moving_variance", "dense_2/kernel",
          "dense_2/bias"}) {
      const auto values = model.weights(name);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }
  // The text of the Exception that `action` throws.
  static std::string bad_input(const std::function<void()>& action) {
    try {
      action();
    } catch (const Exception& error) {
      EXPECT_EQ(error.failure(), Failure::bad_input) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  Session session_{{.host = "1GiB", .threads = 2}};
  TestFolder folder_;
  std::vector<float> x_, y_;
};

}  // namespace plimsoll::train::testing
