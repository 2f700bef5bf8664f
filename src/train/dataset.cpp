#include "train/dataset.h"

#include "data/array_source.h"
#include "data/npy_source.h"
#include "data/random_source.h"

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
namespace {

Shape shape_of(const std::vector<std::int64_t>& extents) {
  return Shape(std::vector<Dim>(extents.begin(), extents.end()));
}

}  // namespace

Result<std::unique_ptr<data::Source>> open_dataset(const data::Dataset& set,
                                                   std::int64_t seed) {
  using Kind = data::Dataset::Kind;
  if (set.kind == Kind::npy) {
    PLIMSOLL_ASSIGN(auto source,
                    data::NpySource::open(set.features_path, set.labels_path));
    return std::unique_ptr<data::Source>(std::move(source));
  }
  if (set.kind == Kind::arrays) {
    PLIMSOLL_ASSIGN(
        auto source,
        data::ArraySource::create(
            set.examples,
            {set.features_data, {DType::f32, shape_of(set.features)}},
            {set.labels_data, {DType::f32, shape_of(set.label_shape)}}));
    return std::unique_ptr<data::Source>(std::move(source));
  }
  data::RandomSpec spec;
  spec.examples = set.examples;
  spec.features = shape_of(set.features);
  spec.labels = static_cast<data::RandomLabels>(set.labels);
  spec.label_shape = shape_of(set.label_shape);
  spec.classes = set.classes;
  spec.seed = static_cast<std::uint64_t>(seed);
  PLIMSOLL_ASSIGN(auto source, data::RandomSource::create(spec));
  return std::unique_ptr<data::Source>(std::move(source));
}

std::vector<StageSpec> pipeline_of(const data::Dataset& set) {
  std::vector<StageSpec> pipeline;
  if (set.shuffled) pipeline.push_back({"shuffle", 0});
  pipeline.push_back({"batch", 0});
  if (set.prefetched > 0) pipeline.push_back({"prefetch", set.prefetched});
  return pipeline;
}

}  // namespace train
}  // namespace plimsoll
