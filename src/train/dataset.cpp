#include "train/dataset.h"

#include "data/sets/array_set.h"
#include "data/sets/npy_set.h"
#include "data/sets/random_set.h"

namespace plimsoll {
namespace data {

Dataset Dataset::shuffle() const {
  Dataset set = *this;
  set.shuffled = true;
  return set;
}

Dataset Dataset::batch(std::int64_t size) const {
  Dataset set = *this;
  set.batch_size = size;
  return set;
}

Dataset Dataset::prefetch(std::int64_t batches) const {
  Dataset set = *this;
  set.prefetched = batches;
  return set;
}

Dataset Dataset::hold_in_memory() const {
  Dataset set = *this;
  set.in_memory = true;
  return set;
}

Dataset from_npy(std::string features, std::string labels) {
  Dataset set;
  set.kind = Dataset::Kind::npy;
  set.features_path = std::move(features);
  set.labels_path = std::move(labels);
  return set;
}

Dataset from_arrays(const float* features, std::vector<std::int64_t> shape,
                    const float* labels, std::vector<std::int64_t> label_shape,
                    std::int64_t examples) {
  Dataset set;
  set.kind = Dataset::Kind::arrays;
  set.features_data = features;
  set.labels_data = labels;
  set.features = std::move(shape);
  set.label_shape = std::move(label_shape);
  set.examples = examples;
  return set;
}

Dataset random(std::int64_t examples, std::vector<std::int64_t> shape,
               Dataset::Labels labels, std::vector<std::int64_t> label_shape,
               std::int64_t classes) {
  Dataset set;
  set.kind = Dataset::Kind::random;
  set.examples = examples;
  set.features = std::move(shape);
  set.labels = labels;
  set.label_shape = std::move(label_shape);
  set.classes = classes;
  return set;
}

}  // namespace data

namespace train {
Result<data::Source> open_dataset(const data::Dataset& set, std::int64_t seed) {
  using Kind = data::Dataset::Kind;
  if (set.kind == Kind::npy) {
    PLIMSOLL_ASSIGN(auto opened,
                    data::NpySet::open({{"features", set.features_path},
                                        {"labels", set.labels_path}}));
    return source_over(std::move(opened));
  }
  PLIMSOLL_ASSIGN(const auto features,
                  data::extents_of("features", set.features));
  PLIMSOLL_ASSIGN(const auto labels,
                  data::extents_of("labels", set.label_shape));
  if (set.kind == Kind::arrays) {
    PLIMSOLL_ASSIGN(
        auto opened,
        data::ArraySet::create(
            set.examples, {{data::fixed_field("features", DType::f32, features),
                            set.features_data},
                           {data::fixed_field("labels", DType::f32, labels),
                            set.labels_data}}));
    return source_over(std::move(opened));
  }
  data::RandomSpec spec;
  spec.examples = set.examples;
  spec.features = features;
  spec.labels = static_cast<data::RandomLabels>(set.labels);
  spec.label_shape = labels;
  spec.classes = set.classes;
  spec.seed = static_cast<std::uint64_t>(seed);
  PLIMSOLL_ASSIGN(auto opened, data::RandomSet::create(spec));
  return source_over(std::move(opened));
}

std::vector<data::Recipe> pipeline_of(const data::Dataset& set) {
  std::vector<data::Recipe> pipeline;
  for (data::Recipe& stage : data::default_pipeline()) {
    if (stage.name == "shuffle" && !set.shuffled) continue;
    if (stage.name == "prefetch") {
      if (set.prefetched == 0) continue;
      stage.options["batches"] = set.prefetched;
    }
    pipeline.push_back(std::move(stage));
  }
  return pipeline;
}

}  // namespace train
}  // namespace plimsoll
