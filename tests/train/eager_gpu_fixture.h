// Tensors on a GPU beside the same on the CPU.
#pragma once

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <functional>

#include "plimsoll/plimsoll.h"
#include "thrown.h"
#include "train/missing_gpu.h"

namespace plimsoll::train::testing {

using plimsoll::testing::thrown;

class EagerGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string missing = missing_gpu();
    if (!missing.empty()) GTEST_SKIP() << missing;
  }

  // On the CPU, slowly: see tests/device/emulated.
  static bool emulated() {
    return std::getenv("FAKE_CUDA_COMPUTES") != nullptr;
  }
  static SessionOptions on_gpu(const char* device_memory = "2GiB") {
    return {.host = "8GiB", .device = "cuda:0", .device_memory = device_memory};
  }
  static SessionOptions on_cpu() { return {.host = "8GiB"}; }

  using Work = std::function<std::vector<Tensor>()>;
  static void compare(const Work& work, double tolerance = 1e-5) {
    compare_in_session([&](Session&) { return work(); }, tolerance);
  }
  // What `work` makes on the GPU is what it makes on the CPU, to rounding.
  using SessionWork = std::function<std::vector<Tensor>(Session&)>;
  static void compare_in_session(const SessionWork& work,
                                 double tolerance = 1e-5) {
    const auto numbers = [&](const SessionOptions& options) {
      Session session(options);
      std::vector<std::vector<double>> all;
      for (const Tensor& tensor : work(session)) {
        all.push_back(tensor.to_doubles());
      }
      return all;
    };
    const auto here = numbers(on_gpu());
    const auto there = numbers(on_cpu());
    ASSERT_EQ(here.size(), there.size());
    for (std::size_t i = 0; i < here.size(); ++i) {
      ASSERT_EQ(here[i].size(), there[i].size()) << "result " << i;
      for (std::size_t j = 0; j < here[i].size(); ++j) {
        ASSERT_NEAR(here[i][j], there[i][j],
                    tolerance * (1 + std::abs(there[i][j])))
            << "result " << i << ", element " << j;
      }
    }
  }

  static Tensor numbers(Extents shape, std::int64_t seed) {
    return random_uniform(std::move(shape), seed, -1, 1);
  }
};

inline std::vector<Tensor> loop_by_hand(int steps) {
  const Tensor x = random_uniform({256, 100}, 1, -1, 1);
  const Tensor y =
      one_hot(argmax(matmul(x, random_uniform({100, 10}, 2)), 1), 10);
  Tensor w1 = random_normal({100, 64}, 3, 0, 0.1);
  Tensor b1 = zeros({64});
  Tensor w2 = random_normal({64, 10}, 4, 0, 0.1);
  Tensor loss;
  std::vector<Tensor> gradients;
  for (int i = 0; i < steps; ++i) {
    GradientTape tape;
    for (const Tensor& one : {w1, b1, w2}) tape.watch(one);
    const Tensor hidden = relu(matmul(x, w1) + b1);
    loss = mean(softmax_cross_entropy_with_logits(y, matmul(hidden, w2)));
    gradients = tape.gradient(loss, {w1, b1, w2});
    const double rate = 0.5 / (1 + 0.1 * i);
    w1 -= gradients[0] * rate;
    b1 -= gradients[1] * rate;
    w2 -= gradients[2] * rate;
  }
  return {loss, gradients[0], gradients[1], gradients[2], w1};
}

}  // namespace plimsoll::train::testing
