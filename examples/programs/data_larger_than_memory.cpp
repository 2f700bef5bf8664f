// A set that is larger than the memory, fed to fit(). Whole arrays are in
// memory whatever reads them: a pipeline over them saves nothing. A pipeline
// from the file holds a few batches.
#include <iostream>

#include "compare.h"
#include "npy_file.h"
#include "plimsoll/plimsoll.h"

namespace {

namespace pl = plimsoll;

constexpr std::int64_t kFeatures = 1'000;
constexpr std::int64_t kBatch = 32;

std::int64_t examples(const example::Setting& setting) {
  return setting.small ? 40'000 : 262'144;  // 153 MiB or 1,000 MiB
}

void write_files(const example::Setting& setting) {
  std::uint32_t state = 1;
  const auto next = [&] { return (state = state * 1664525u + 1013904223u); };
  const auto label_of = [](std::int64_t index) { return index % 3 == 0; };
  example::write_npy<float>(setting.folder / "x.npy", examples(setting),
                            {kFeatures}, [&](std::int64_t index, float* row) {
                              for (std::int64_t i = 0; i < kFeatures; ++i) {
                                row[i] =
                                    static_cast<float>(next() >> 8) / (1 << 24);
                              }
                              row[0] = label_of(index) ? 4.0f : -4.0f;
                            });
  example::write_npy<float>(setting.folder / "y.npy", examples(setting), {},
                            [&](std::int64_t index, float* label) {
                              *label = label_of(index) ? 1.0f : 0.0f;
                            });
}

// Trains, and says what the plan said before.
example::Outcome train(pl::Session& session, const pl::data::Dataset& data) {
  pl::Sequential model{pl::Dense(128, pl::relu), pl::Dense(1, pl::sigmoid)};
  model.compile(session,
                {.optimizer = pl::Adam{}, .loss = pl::binary_crossentropy});
  const pl::Plan plan = model.plan(data);
  const pl::FitHistory history = model.fit(data);
  return {plan.host_peak_bytes(), history.loss.back()};
}

// The arrays are there before the session is: it counts them as the process's.
struct Arrays {
  std::vector<float> x, y;
  explicit Arrays(const example::Setting& setting)
      : x(example::read_npy<float>(setting.folder / "x.npy")),
        y(example::read_npy<float>(setting.folder / "y.npy")) {}
  pl::data::Dataset dataset() const {
    return pl::data::from_arrays(x.data(), {kFeatures}, y.data(), {},
                                 static_cast<std::int64_t>(y.size()));
  }
};

example::Outcome whole_arrays(const example::Setting& setting) {
  const Arrays arrays(setting);
  pl::Session session;
  return train(session, arrays.dataset().batch(kBatch));
}

example::Outcome pipeline_over_arrays(const example::Setting& setting) {
  const Arrays arrays(setting);
  pl::Session session;
  std::cout << "this cures nothing: the arrays are in memory before the "
               "pipeline begins\n";
  return train(session, arrays.dataset().shuffle().batch(kBatch).prefetch());
}

example::Outcome pipeline_from_file(const example::Setting& setting) {
  pl::Session session({.host = setting.small ? "64MiB" : "128MiB"});
  const auto data =
      pl::data::from_npy(setting.folder / "x.npy", setting.folder / "y.npy")
          .shuffle()
          .batch(kBatch)
          .prefetch();
  return train(session, data);
}

}  // namespace

int main(int argc, char** argv) {
  return example::compare(
      argc, argv,
      {.question = "The data is larger than the memory.",
       .parts = {{"whole-arrays", example::Role::problem,
                  "the set is loaded, then given to fit", whole_arrays},
                 {"pipeline-over-arrays", example::Role::advice,
                  "the set is loaded, then read by a pipeline",
                  pipeline_over_arrays},
                 {"pipeline-from-file", example::Role::cure,
                  "a pipeline reads the file, batch by batch",
                  pipeline_from_file}},
       .prepare = write_files,
       .line_bytes = 128 << 20,
       .small_line_bytes = 64 << 20,
       .tolerance = 0.01});
}
