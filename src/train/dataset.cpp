#include "train/dataset.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "base/units.h"
#include "data/maps/function_map.h"
#include "data/sets/array_set.h"
#include "data/streams/generator_stream.h"
#include "device/cpu/mapped_file.h"

namespace plimsoll {
namespace data {

Dataset Dataset::stage(std::string name, Options with) const {
  Dataset set = *this;
  set.stages.push_back({std::move(name), std::move(with), {}, {}, {}});
  return set;
}

Dataset Dataset::shuffle() const { return stage("shuffle"); }

Dataset Dataset::shuffle_window(std::int64_t elements) const {
  return stage("shuffle",
               {{"mode", std::string("window")}, {"elements", elements}});
}

Dataset Dataset::repeat(std::int64_t count) const {
  return stage("repeat", {{"count", count}});
}

Dataset Dataset::take(std::int64_t count) const {
  return stage("take", {{"count", count}});
}

Dataset Dataset::skip(std::int64_t count) const {
  return stage("skip", {{"count", count}});
}

Dataset Dataset::shard(std::int64_t index, std::int64_t count) const {
  return stage("shard", {{"index", index}, {"count", count}});
}

Dataset Dataset::cache(std::string memory, std::string folder) const {
  Options with = {{"memory", std::move(memory)}};
  if (!folder.empty()) with["folder"] = std::move(folder);
  return stage("cache", std::move(with));
}

Dataset Dataset::resize(std::int64_t height, std::int64_t width) const {
  return stage("resize", {{"height", height}, {"width", width}});
}

Dataset Dataset::map(std::vector<std::int64_t> shape, FeatureMap f) const {
  Dataset set = stage("map");
  set.stages.back().map = std::move(f);
  set.stages.back().map_shape = std::move(shape);
  return set;
}

Dataset Dataset::filter(ExampleFilter keep) const {
  Dataset set = stage("filter");
  set.stages.back().filter = std::move(keep);
  return set;
}

Dataset Dataset::skip_errors() const { return stage("skip_errors"); }

Dataset Dataset::batch(std::int64_t size, bool remainder) const {
  Dataset set = *this;
  set.batch_size = size;
  set.keeps_remainder = remainder;
  return set;
}

Dataset Dataset::padded_batch(std::int64_t size,
                              std::vector<std::int64_t> shape, double value,
                              bool remainder) const {
  return stage("padded_batch", {{"shape", std::move(shape)}, {"value", value}})
      .batch(size, remainder);
}

Dataset Dataset::prefetch(std::int64_t batches) const {
  Dataset set = *this;
  set.prefetched = batches;
  return set;
}

Dataset Dataset::autotune() const {
  Dataset set = *this;
  set.tuned = true;
  set.prefetched = std::max<std::int64_t>(set.prefetched, 1);
  return set;
}

Dataset Dataset::share(std::string memory) const {
  Dataset set = *this;
  set.memory_share = std::move(memory);
  return set;
}

Dataset Dataset::hold_in_memory() const {
  Dataset set = *this;
  set.in_memory = true;
  return set;
}

Dataset Dataset::unordered() const {
  Dataset set = *this;
  set.keeps_order = false;
  return set;
}

Dataset from(std::string type, Options options) {
  Dataset set;
  set.type = std::move(type);
  set.options = std::move(options);
  return set;
}

Dataset from_npy(std::string features, std::string labels) {
  return from("npy", {{"features", std::move(features)},
                      {"labels", std::move(labels)}});
}

Dataset from_arrays(const float* features, std::vector<std::int64_t> shape,
                    const float* labels, std::vector<std::int64_t> label_shape,
                    std::int64_t examples) {
  Dataset set;
  set.features_data = features;
  set.labels_data = labels;
  set.features = std::move(shape);
  set.label_shape = std::move(label_shape);
  set.examples = examples;
  return set;
}

Dataset from_generator(std::vector<std::int64_t> shape,
                       std::vector<std::int64_t> label_shape,
                       ExampleGenerator generator) {
  Dataset set;
  set.features = std::move(shape);
  set.label_shape = std::move(label_shape);
  set.generator = std::move(generator);
  return set;
}

Dataset random(std::int64_t examples, std::vector<std::int64_t> shape,
               Dataset::Labels labels, std::vector<std::int64_t> label_shape,
               std::int64_t classes, std::int64_t feature_classes) {
  using Labels = Dataset::Labels;
  Options options = {
      {"examples", examples},
      {"features", std::move(shape)},
      {"labels", std::string(labels == Labels::binary    ? "binary"
                             : labels == Labels::uniform ? "uniform"
                                                         : "classes")}};
  // Without one they are single numbers.
  if (labels != Labels::binary && !label_shape.empty()) {
    options["label_shape"] = std::move(label_shape);
  }
  if (labels == Labels::classes) options["label_count"] = classes;
  if (feature_classes > 0) options["classes"] = feature_classes;
  return from("random", std::move(options));
}

Dataset zip(std::vector<Dataset> sets) {
  Dataset joined = from("zip", {});
  joined.inputs = std::move(sets);
  return joined;
}

Dataset concatenate(std::vector<Dataset> sets) {
  Dataset joined = from("concatenate", {});
  joined.inputs = std::move(sets);
  return joined;
}

Dataset interleave(std::vector<Dataset> sets, std::int64_t cycle,
                   std::int64_t block) {
  Dataset joined = from("interleave", {{"cycle", cycle}, {"block", block}});
  joined.inputs = std::move(sets);
  return joined;
}

}  // namespace data

namespace train {
namespace {

// Small arrays may be constants of the program, which is a mapped file too.
Status check_not_mapped(const char* what, const void* data,
                        std::int64_t bytes) {
  if (data == nullptr || bytes < kMiB) return {};
  const std::string file = mapped_file(data, bytes);
  if (file.empty()) return {};
  return Error{ErrorCode::bad_input,
               fmt::format("the {} are mapped from {}: reading them would pull "
                           "the whole file into memory; use from_npy, which "
                           "reads it piece by piece",
                           what, file)};
}

Result<std::shared_ptr<const data::Indexed>> open_arrays(
    const data::Dataset& set) {
  PLIMSOLL_ASSIGN(const auto features,
                  data::extents_of("features", set.features));
  PLIMSOLL_ASSIGN(const auto labels,
                  data::extents_of("labels", set.label_shape));
  for (const auto& [what, data, shape] :
       {std::tuple("features", set.features_data, features),
        std::tuple("labels", set.labels_data, labels)}) {
    PLIMSOLL_RETURN_IF_ERROR(
        check_not_mapped(what, data,
                         set.examples * shape.elements() *
                             static_cast<std::int64_t>(sizeof(float))));
  }
  PLIMSOLL_ASSIGN(
      auto opened,
      data::ArraySet::create(
          set.examples, {{data::fixed_field("features", DType::f32, features),
                          set.features_data},
                         {data::fixed_field("labels", DType::f32, labels),
                          set.labels_data}}));
  return std::shared_ptr<const data::Indexed>(std::move(opened));
}

Result<std::unique_ptr<data::Stream>> open_generator(const data::Dataset& set) {
  PLIMSOLL_ASSIGN(const auto features,
                  data::extents_of("features", set.features));
  PLIMSOLL_ASSIGN(const auto labels,
                  data::extents_of("labels", set.label_shape));
  return data::generator_stream(
      "generator",
      {data::fixed_field("features", DType::f32, features),
       data::fixed_field("labels", DType::f32, labels)},
      [f = set.generator](std::int64_t index, data::Element&,
                          std::span<std::byte* const> buffers) -> Result<bool> {
        return f(index, reinterpret_cast<float*>(buffers[0]),
                 reinterpret_cast<float*>(buffers[1]));
      });
}

data::Recipe recipe_of(const data::StageRecipe& stage) {
  data::Recipe recipe;
  recipe.name = stage.name;
  recipe.options = stage.options;
  if (stage.map) {
    recipe.map = [f = stage.map, shape = stage.map_shape] {
      return data::function_map(shape, f);
    };
  }
  if (stage.filter) {
    recipe.predicate =
        [f = stage.filter](const data::Element& element) -> Result<bool> {
      return f(reinterpret_cast<const float*>(element.values[0].data));
    };
  }
  return recipe;
}

}  // namespace

data::Recipe source_of(const data::Dataset& set) {
  data::Recipe recipe;
  recipe.name = set.type;
  recipe.options = set.options;
  if (set.type.empty() && set.generator) {
    recipe.name = "generator";
    recipe.stream = [set] { return open_generator(set); };
  } else if (set.type.empty()) {
    recipe.name = "arrays";
    recipe.set = [set] { return open_arrays(set); };
  }
  for (const data::Dataset& input : set.inputs) {
    recipe.inputs.push_back(source_of(input));
    for (const data::StageRecipe& stage : input.stages) {
      recipe.inputs.back().stages.push_back(recipe_of(stage));
    }
  }
  return recipe;
}

std::vector<data::Recipe> pipeline_of(const data::Dataset& set) {
  std::vector<data::Recipe> pipeline;
  for (const data::StageRecipe& stage : set.stages) {
    pipeline.push_back(recipe_of(stage));
  }
  data::Recipe batch;
  batch.name = "batch";
  batch.options["remainder"] = set.keeps_remainder;
  pipeline.push_back(std::move(batch));
  if (set.prefetched == 0) return pipeline;
  data::Recipe prefetch;
  prefetch.name = "prefetch";
  prefetch.options["batches"] = set.prefetched;
  prefetch.options["autotune"] = set.tuned;
  pipeline.push_back(std::move(prefetch));
  return pipeline;
}

Status state_data(const data::Dataset& set, DataSpec& data) {
  data.source = source_of(set);
  data.pipeline = pipeline_of(set);
  data.ordered = set.keeps_order;
  PLIMSOLL_RETURN_IF_ERROR(data::check_source(data.source));
  for (const data::Recipe& stage : data.pipeline) {
    PLIMSOLL_RETURN_IF_ERROR(data::check_stage(stage));
  }
  if (set.memory_share.empty()) return {};
  const auto share = parse_size(set.memory_share, 0);
  if (!share) {
    return Error{ErrorCode::bad_input, "share: " + share.error().message};
  }
  data.share_bytes = *share;
  return {};
}

}  // namespace train
}  // namespace plimsoll
