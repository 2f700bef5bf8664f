// How much memory a job may take, of the host and of a GPU. Without a limit it
// takes what it takes; with one it is refused before it allocates, told what
// would fit, and trained inside the line.
#include <iostream>
#include <stdexcept>

#include "compare.h"
#include "plimsoll/plimsoll.h"

namespace {

namespace pl = plimsoll;

struct Sizes {
  std::int64_t examples, batch, features;
};

Sizes sizes(const example::Setting& setting) {
  return setting.small ? Sizes{65'536, 65'536, 512}
                       : Sizes{131'072, 65'536, 2'048};
}

pl::data::Dataset data(const example::Setting& setting, std::int64_t batch) {
  return pl::data::random(sizes(setting).examples, {sizes(setting).features})
      .batch(batch)
      .prefetch();
}

pl::Sequential compiled(pl::Session& session) {
  pl::Sequential model{pl::Dense(128, pl::relu), pl::Dense(1, pl::sigmoid)};
  model.compile(session, {.loss = pl::binary_crossentropy});
  return model;
}

example::Outcome no_limit(const example::Setting& setting) {
  pl::Session session;
  pl::Sequential model = compiled(session);
  const auto set = data(setting, sizes(setting).batch);
  const pl::Plan plan = model.plan(set);
  model.fit(set);
  return {.forecast_bytes = plan.host_peak_bytes()};
}

// Which memory of a GPU's machine runs out first: it need not be there.
void plan_for_a_gpu(const example::Setting& setting) {
  pl::Session session(
      {.host = "768MiB", .device_memory = "512MiB", .device_profile = "t4"});
  pl::Sequential model = compiled(session);
  const pl::Plan plan = model.plan(data(setting, 1'024));
  std::cout << "on a T4, with 768 MiB of the host and 512 MiB of the GPU, "
            << plan.first_to_exhaust() << " memory runs out first:\n"
            << plan.summary();
}

// The same, trained inside both limits, where there is a GPU.
void train_on_a_gpu(const example::Setting& setting) {
  if (!pl::config::missing_cuda().empty()) {
    std::cout << "no GPU is used: " << pl::config::missing_cuda() << "\n";
    return;
  }
  pl::Session session(
      {.host = "4GiB", .device = "cuda:0", .device_memory = "2GiB"});
  pl::Sequential model = compiled(session);
  const pl::FitHistory history = model.fit(data(setting, 1'024));
  std::cout << "on the GPU: " << history.forecast_device_bytes
            << " B forecast, " << history.measured_device_bytes
            << " B measured, of " << session.device_budget_bytes() << " B\n";
}

example::Outcome limited(const example::Setting& setting) {
  pl::Session session({.host = "64MiB"});
  pl::Sequential model = compiled(session);
  std::int64_t batch = sizes(setting).batch;
  const std::int64_t held = session.host_held_bytes();
  try {
    model.fit(data(setting, batch));
    throw std::runtime_error("the limit was not looked at");
  } catch (const pl::Exception& refused) {
    if (refused.failure() != pl::Failure::does_not_fit) throw;
    std::cout << "refused: " << refused.what() << "\n";
  }
  if (session.host_held_bytes() != held) {
    throw std::runtime_error("the refusal came after memory was taken");
  }
  // One of the remedies: the largest batch that fits as it is.
  batch = model.plan(data(setting, batch)).host_exhausts_at().value() - 1;
  const pl::Plan plan = model.plan(data(setting, batch));
  model.fit(data(setting, batch));
  std::cout << "trained with batches of " << batch << "\n";
  return {.forecast_bytes = plan.host_peak_bytes()};
}

}  // namespace

int main(int argc, char** argv) {
  return example::compare(
      argc, argv,
      {.question =
           "How much memory may training take, and which runs out first?",
       .parts = {{"no-limit", example::Role::problem,
                  "a session without a budget", no_limit},
                 {"limited", example::Role::cure,
                  "a session with a budget: refused, told, trained", limited}},
       .afterwards =
           [](const example::Setting& setting) {
             plan_for_a_gpu(setting);
             train_on_a_gpu(setting);
           },
       .line_bytes = 64 << 20,
       .small_line_bytes = 64 << 20});
}
