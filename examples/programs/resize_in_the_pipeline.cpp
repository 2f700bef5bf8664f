// Images that are made larger before they are trained on. Resized up front, the
// whole set is in memory at its new size; resized by a map of the pipeline,
// only the images of a few batches are.
#include <iostream>

#include "compare.h"
#include "npy_file.h"
#include "plimsoll/plimsoll.h"

namespace {

namespace pl = plimsoll;

constexpr std::int64_t kStored = 32, kWanted = 96, kChannels = 3;
constexpr std::int64_t kStoredValues = kStored * kStored * kChannels;
constexpr std::int64_t kWantedValues = kWanted * kWanted * kChannels;
constexpr std::int64_t kClasses = 4;

std::int64_t images(const example::Setting& setting) {
  return setting.small ? 1'500 : 10'000;  // resized: 158 MiB or 1,055 MiB
}

// Images of which each class has its own brightness.
void write_files(const example::Setting& setting) {
  example::write_npy<std::uint8_t>(
      setting.folder / "images.npy", images(setting),
      {kStored, kStored, kChannels},
      [](std::int64_t index, std::uint8_t* image) {
        for (std::int64_t i = 0; i < kStoredValues; ++i) {
          image[i] = static_cast<std::uint8_t>((i * 7 + index) % 16 +
                                               index % kClasses * 8);
        }
      });
  example::write_npy<float>(setting.folder / "classes.npy", images(setting), {},
                            [](std::int64_t index, float* label) {
                              *label = static_cast<float>(index % kClasses);
                            });
}

// One image, to the nearest pixel, its values from 0 to 1.
template <class Value>
void resize(const Value* in, float* out) {
  for (std::int64_t row = 0; row < kWanted; ++row) {
    for (std::int64_t column = 0; column < kWanted; ++column) {
      const Value* pixel = in + (row * kStored / kWanted * kStored +
                                 column * kStored / kWanted) *
                                    kChannels;
      for (std::int64_t c = 0; c < kChannels; ++c) *out++ = pixel[c] / 48.0f;
    }
  }
}

example::Outcome train(pl::Session& session, const pl::data::Dataset& data) {
  pl::Sequential model{
      pl::Conv2D(8, {8, 8}, {.strides = {8, 8}, .activation = pl::relu}),
      pl::GlobalAveragePooling2D(), pl::Dense(kClasses, pl::softmax)};
  model.compile(session, {.optimizer = pl::Adam{.learning_rate = 0.01},
                          .loss = pl::sparse_categorical_crossentropy});
  const pl::Plan plan = model.plan(data);
  const pl::FitHistory history = model.fit(data);
  return {plan.host_peak_bytes(), history.loss.back()};
}

example::Outcome up_front(const example::Setting& setting) {
  std::vector<float> resized(
      static_cast<std::size_t>(images(setting) * kWantedValues));
  const auto stored =
      example::read_npy<std::uint8_t>(setting.folder / "images.npy");
  for (std::int64_t i = 0; i < images(setting); ++i) {
    resize(stored.data() + i * kStoredValues,
           resized.data() + i * kWantedValues);
  }
  const auto labels = example::read_npy<float>(setting.folder / "classes.npy");
  pl::Session session;
  return train(session, pl::data::from_arrays(
                            resized.data(), {kWanted, kWanted, kChannels},
                            labels.data(), {}, images(setting))
                            .shuffle()
                            .batch(32)
                            .prefetch());
}

example::Outcome in_the_pipeline(const example::Setting& setting) {
  pl::Session session({.host = setting.small ? "96MiB" : "128MiB"});
  const auto data = pl::data::from_npy(setting.folder / "images.npy",
                                       setting.folder / "classes.npy")
                        .shuffle()
                        .stage("cast", {{"to", "f32"}})
                        .map({kWanted, kWanted, kChannels}, resize<float>)
                        .batch(32)
                        .prefetch();
  std::cout << data.explain(session);
  return train(session, data);
}

}  // namespace

int main(int argc, char** argv) {
  return example::compare(
      argc, argv,
      {.question = "Images are resized before they are trained on.",
       .parts = {{"up-front", example::Role::problem,
                  "all images are resized, then trained on", up_front},
                 {"in-the-pipeline", example::Role::cure,
                  "each image is resized when its batch is made",
                  in_the_pipeline}},
       .prepare = write_files,
       .line_bytes = 128 << 20,
       .small_line_bytes = 96 << 20,
       .tolerance = 1e-6});
}
