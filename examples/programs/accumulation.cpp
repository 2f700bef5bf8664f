// A batch whose activations do not fit. Four batches of a quarter each, with
// one update for all, give the same weights in a quarter of the activations:
// by fit(), and by hand with a tape.
#include "compare.h"
#include "plimsoll/plimsoll.h"

namespace {

namespace pl = plimsoll;

constexpr std::int64_t kWidth = 64;
constexpr int kLayers = 24;
constexpr std::int64_t kParts = 4;
constexpr double kRate = 0.1;

std::int64_t examples(const example::Setting& setting) {
  return setting.small ? 65'536 : 262'144;
}

std::string line(const example::Setting& setting) {
  return setting.small ? "192MiB" : "640MiB";
}

// One epoch is one update, of one batch or of four.
example::Outcome fit(pl::Session& session, const example::Setting& setting,
                     std::int64_t steps) {
  std::vector<pl::Layer> layers(kLayers, pl::Dense(kWidth, pl::tanh));
  layers.push_back(pl::Dense(1, pl::sigmoid));
  pl::Sequential model(layers);
  model.compile(session, {.optimizer = pl::SGD{.learning_rate = kRate},
                          .loss = pl::binary_crossentropy,
                          .accumulation_steps = steps});
  const auto data = pl::data::random(examples(setting), {kWidth})
                        .batch(examples(setting) / steps);
  const pl::Plan plan = model.plan(data);
  model.fit(data);
  double sum = 0;
  for (const double weight : model.weights("dense_1/kernel")) sum += weight;
  return {plan.host_peak_bytes(), sum};
}

example::Outcome fit_large(const example::Setting& setting) {
  pl::Session session;
  return fit(session, setting, 1);
}

example::Outcome fit_accumulated(const example::Setting& setting) {
  pl::Session session({.host = line(setting)});
  return fit(session, setting, kParts);
}

// A quarter of the batch: features, and what is to be predicted of them.
struct Quarter {
  pl::Tensor x, y;
  Quarter(const example::Setting& setting, std::int64_t index)
      : x(pl::random_normal({examples(setting) / kParts, kWidth}, index)),
        y(pl::sum(x, {1}, true) * 0.1) {}
};

// By hand: kernels alone, and their gradients.
struct Stack {
  std::vector<pl::Tensor> kernels;

  Stack() {
    for (int i = 0; i < kLayers; ++i) {
      kernels.push_back(pl::random_normal({kWidth, kWidth}, 100 + i, 0, 0.125));
    }
    kernels.push_back(pl::random_normal({kWidth, 1}, 99, 0, 0.125));
  }
  pl::Tensor loss(pl::Tensor x, const pl::Tensor& y) const {
    for (std::size_t i = 0; i < kLayers; ++i) {
      x = pl::tanh(pl::matmul(x, kernels[i]));
    }
    return pl::mean_squared_error(y, pl::matmul(x, kernels.back()));
  }
  std::vector<pl::Tensor> gradients(const pl::Tensor& x,
                                    const pl::Tensor& y) const {
    pl::GradientTape tape;
    for (const pl::Tensor& kernel : kernels) tape.watch(kernel);
    return tape.gradient(loss(x, y), kernels);
  }
  double updated(const std::vector<pl::Tensor>& by) const {
    return pl::sum(kernels[0] - by[0] * kRate).item();
  }
};

// The process, and what is alive at a time: what the tape keeps, one result for
// each layer, beside the first three values of the way back.
std::int64_t alive(const pl::Session& session, std::int64_t count) {
  const std::int64_t values = (kLayers + 3) * count * kWidth * 4;
  return session.host_held_bytes() + values + values / 10;
}

example::Outcome tape_large(const example::Setting& setting) {
  const pl::Session session;
  const Stack model;
  const std::int64_t expected = alive(session, examples(setting));
  pl::Tensor x, y;
  {
    std::vector<pl::Tensor> features, labels;
    for (std::int64_t i = 0; i < kParts; ++i) {
      const Quarter quarter(setting, i);
      features.push_back(quarter.x);
      labels.push_back(quarter.y);
    }
    x = pl::concat(features, 0);
    y = pl::concat(labels, 0);
  }
  return {expected, model.updated(model.gradients(x, y))};
}

example::Outcome tape_accumulated(const example::Setting& setting) {
  const pl::Session session({.host = line(setting)});
  const Stack model;
  const std::int64_t expected = alive(session, examples(setting) / kParts);
  std::vector<pl::Tensor> sums;
  for (std::int64_t i = 0; i < kParts; ++i) {
    const Quarter quarter(setting, i);
    auto gradients = model.gradients(quarter.x, quarter.y);
    if (sums.empty()) sums.resize(gradients.size());
    for (std::size_t k = 0; k < sums.size(); ++k) {
      // Each loss is a mean over a quarter.
      const pl::Tensor share = gradients[k] / static_cast<double>(kParts);
      sums[k] = sums[k].defined() ? sums[k] + share : share;
    }
  }
  return {expected, model.updated(sums)};
}

}  // namespace

int main(int argc, char** argv) {
  return example::compare(
      argc, argv,
      {.question = "The batch is too large for the memory.",
       .parts = {{"fit-large", example::Role::problem,
                  "fit() with the whole batch", fit_large},
                 {"fit-accumulated", example::Role::cure,
                  "fit() with four batches and one update", fit_accumulated},
                 {"tape-large", example::Role::problem,
                  "a tape over the whole batch", tape_large},
                 {"tape-accumulated", example::Role::cure,
                  "a tape for each of four batches, gradients summed",
                  tape_accumulated}},
       .line_bytes = 640 << 20,
       .small_line_bytes = 192 << 20,
       .tolerance = 1e-4});
}
