// Shapes that cannot go together, found before anything is built.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/recipe.h"
#include "train/job_file/job_file_sections.h"
#include "train/network.h"

namespace plimsoll::train {
namespace {

using Extents = std::vector<std::int64_t>;

std::string text_of(const Extents& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

const JobValue& value_at(const JobValue& root,
                         std::initializer_list<const char*> path) {
  const JobValue* at = &root;
  for (const char* key : path) {
    const JobValue* next = at->find(key);
    if (!next) break;
    at = next;
  }
  return *at;
}

// Why labels of this source cannot go with the loss and the output, or empty.
std::string label_mismatch(const data::Recipe& source, const std::string& loss,
                           const Extents& output) {
  const bool sparse = loss == "sparse_categorical_crossentropy";
  const std::string labels = source.text("labels", "");
  if (labels == "classes") {
    if (!sparse) {
      return fmt::format(
          "class numbers do not fit the loss {}: use "
          "sparse_categorical_crossentropy",
          loss);
    }
    const std::int64_t classes = source.integer("label_count", 0);
    if (output.back() != classes) {
      return fmt::format("{} classes do not fit the model's output {}", classes,
                         text_of(output));
    }
    const Extents rows(output.begin(), output.end() - 1);
    if (const Extents shape = source.integers("label_shape"); shape != rows) {
      return fmt::format(
          "class numbers of shape {} do not fit the model's "
          "output {}, which takes {}",
          text_of(shape), text_of(output), text_of(rows));
    }
    return {};
  }
  if (sparse) {
    return "sparse_categorical_crossentropy needs class numbers: { type = "
           "\"classes\", count = ... }";
  }
  const Extents shape =
      labels == "binary" ? Extents{1} : source.integers("label_shape");
  if (shape == output) return {};
  return fmt::format("labels of shape {} do not fit the model's output {}",
                     text_of(shape), text_of(output));
}

void check_source(const JobValue& root, const JobSpec& job,
                  const data::Recipe& source, const Extents& output,
                  const char* key, JobErrors& errors) {
  if (source.name != "random") return;  // files are looked at when opened
  const Extents features = source.integers("features");
  if (features != job.model.input) {
    errors.add(value_at(root, {"data", key, "features"}),
               fmt::format("data.{}.features", key),
               fmt::format("{} does not fit model.input {}", text_of(features),
                           text_of(job.model.input)));
  }
  const std::int64_t classes = source.integer("classes", 0);
  if (classes == 0 && takes_indices(job.model)) {
    errors.add(value_at(root, {"data", key}), fmt::format("data.{}", key),
               "an embedding reads its features as class indices: `classes = "
               "N` makes such, from 0 to N - 1");
  }
  for (const LayerSpec& layer : job.model.layers) {
    if (layer.type != "embedding" || layer.input_dim >= classes) continue;
    errors.add(value_at(root, {"data", key, "classes"}),
               fmt::format("data.{}.classes", key),
               fmt::format("{} classes do not fit the {} rows (input_dim) of "
                           "an embedding",
                           classes, layer.input_dim));
  }
  const std::string why = label_mismatch(source, job.train.loss, output);
  if (!why.empty()) {
    errors.add(value_at(root, {"data", key, "labels"}),
               fmt::format("data.{}.labels", key), why);
  }
}

}  // namespace

Result<Extents> output_shape(const ModelSpec& model, DType precision) {
  graph::Builder builder;
  PLIMSOLL_ASSIGN(const Network network,
                  build_shapes(builder, model, precision));
  Extents shape;
  for (const Dim& dim : builder.type(network.output).shape.dims()) {
    shape.push_back(dim.size);
  }
  shape.erase(shape.begin());
  return shape;
}

void check_shapes(const JobValue& root, const JobSpec& job, JobErrors& errors) {
  for (const data::Recipe& stage : job.data.pipeline) {
    // Shapes change on the way: they are checked where the data is opened.
    if (data::is_map(stage) || stage.name == "unbatch") return;
  }
  const auto output = output_shape(job.model, job.train.precision);
  if (!output) {
    errors.add(output.error());
    return;
  }
  check_source(root, job, job.data.source, *output, "source", errors);
  if (job.data.validation) {
    check_source(root, job, *job.data.validation, *output, "validation",
                 errors);
  }
}

}  // namespace plimsoll::train
