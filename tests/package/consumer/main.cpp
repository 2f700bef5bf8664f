// A user's program: sees nothing but the installed headers and libraries, and
// learns y = 2 a - 3 b + 1 with them.
#include <plimsoll/plimsoll.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace pl = plimsoll;

int main() {
  try {
    constexpr int kExamples = 256;
    std::vector<float> x, y;
    for (int i = 0; i < kExamples; ++i) {
      const float a = static_cast<float>(i % 16) / 16.0f;
      const float b = static_cast<float>(i / 16) / 16.0f;
      x.insert(x.end(), {a, b});
      y.push_back(2 * a - 3 * b + 1);
    }
    const auto data =
        pl::data::from_arrays(x.data(), {2}, y.data(), {1}, kExamples)
            .shuffle()
            .batch(32);

    pl::Session session({.host = "512MiB", .threads = 1});
    pl::Sequential model{pl::Dense(1)};
    model.compile(session, {.optimizer = pl::Adam{.learning_rate = 0.05},
                            .loss = pl::mean_squared_error});
    if (!model.plan(data).fits()) return 1;
    const pl::FitHistory history = model.fit(data, {.epochs = 60});
    std::printf("loss %g; pools: forecast %lld bytes, measured %lld bytes\n",
                history.loss.back(),
                static_cast<long long>(history.forecast_host_bytes),
                static_cast<long long>(history.measured_host_bytes));
    const std::vector<double> kernel = model.weights("dense_1/kernel");
    const bool learned = kernel.size() == 2 && std::abs(kernel[0] - 2) < 0.05 &&
                         std::abs(kernel[1] + 3) < 0.05;
    const bool exact =
        history.forecast_host_bytes == history.measured_host_bytes;
    return learned && exact ? 0 : 1;
  } catch (const pl::Exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
