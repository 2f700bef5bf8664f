// From the recipe of a source to its elements.
#include <fmt/core.h>

#include "data/join_sources.h"
#include "data/pipeline.h"
#include "data/sets/image_folder.h"
#include "data/sets/npy_set.h"
#include "data/sets/npz_set.h"
#include "data/sets/random_set.h"
#include "data/sets/range_set.h"
#include "data/streams/csv_stream.h"
#include "data/streams/lines_stream.h"
#include "data/streams/parse_example.h"
#include "data/streams/tar_stream.h"
#include "data/streams/tfrecord_stream.h"

namespace plimsoll::data {
namespace {

Source of_files(const Recipe& recipe, std::unique_ptr<Stream> stream) {
  std::string files;
  for (const std::string& pattern : recipe.texts("files")) {
    files += (files.empty() ? "" : ", ") + pattern;
  }
  Source source;
  source.stream = std::move(stream);
  source.description = fmt::format("{}: {}", recipe.name, files);
  return source;
}

FileStreamOptions files_of(const Recipe& recipe, std::uint64_t seed) {
  return {recipe.texts("files"), recipe.flag("shuffle_files", false), seed};
}

io::CsvType csv_type(const std::string& name) {
  if (name == "i64") return io::CsvType::i64;
  if (name == "f32") return io::CsvType::f32;
  if (name == "f64") return io::CsvType::f64;
  return io::CsvType::i32;
}

Result<Source> open_csv(const Recipe& recipe, std::uint64_t seed) {
  CsvStreamOptions options;
  options.files = files_of(recipe, seed);
  const std::string delimiter = recipe.text("delimiter", ",");
  if (delimiter.size() != 1) {
    return recipe.bad("`delimiter` must be one character");
  }
  options.csv.delimiter = delimiter[0];
  const std::string header = recipe.text("header", "detect");
  if (header == "yes") options.csv.header = io::CsvHeader::yes;
  if (header == "no") options.csv.header = io::CsvHeader::no;
  if (recipe.has("missing")) options.csv.missing = recipe.text("missing", "");
  options.label = recipe.text("label", "");
  options.label_as = csv_type(recipe.text("label_type", "i32"));
  options.features = recipe.texts("features");
  PLIMSOLL_ASSIGN(options.most_row_bytes,
                  recipe.bytes("most_bytes", options.most_row_bytes));
  PLIMSOLL_ASSIGN(auto stream, csv_stream(options));
  return of_files(recipe, std::move(stream));
}

Result<ExampleField> example_field(const Recipe& recipe,
                                   const std::string& which) {
  ExampleField field;
  field.name = recipe.text(which, "");
  const std::string type = recipe.text(which + "_type", "f32");
  if (type == "bytes") {
    field.kind = io::FeatureKind::bytes;
    field.shape = {kVaries};
    return field;
  }
  field.kind =
      type == "i64" ? io::FeatureKind::int64s : io::FeatureKind::floats;
  PLIMSOLL_ASSIGN(field.shape, extents_of(which + "_shape",
                                          recipe.integers(which + "_shape")));
  return field;
}

Result<Source> open_tfrecord(const Recipe& recipe, std::uint64_t seed) {
  TfRecordStreamOptions options;
  options.files = files_of(recipe, seed);
  PLIMSOLL_ASSIGN(options.most_record_bytes, recipe.bytes("most_bytes", 0));
  PLIMSOLL_ASSIGN(auto stream, tfrecord_stream(options));
  PLIMSOLL_ASSIGN(ExampleField features, example_field(recipe, "features"));
  PLIMSOLL_ASSIGN(ExampleField labels, example_field(recipe, "labels"));
  Source source = of_files(recipe, std::move(stream));
  PLIMSOLL_ASSIGN(auto parse,
                  parse_example({std::move(features), std::move(labels)}));
  source.maps.push_back(std::move(parse));
  return source;
}

Result<Source> open_tar(const Recipe& recipe, std::uint64_t seed) {
  TarStreamOptions options;
  options.files = files_of(recipe, seed);
  options.extensions = {recipe.text("features", ""), recipe.text("labels", "")};
  PLIMSOLL_ASSIGN(options.most_record_bytes, recipe.bytes("most_bytes", 0));
  PLIMSOLL_ASSIGN(auto stream, tar_stream(options));
  return of_files(recipe, std::move(stream));
}

Result<Source> open_lines(const Recipe& recipe, std::uint64_t seed) {
  LinesStreamOptions options;
  options.files = files_of(recipe, seed);
  PLIMSOLL_ASSIGN(options.most_line_bytes,
                  recipe.bytes("most_bytes", options.most_line_bytes));
  PLIMSOLL_ASSIGN(auto stream, lines_stream(options));
  return of_files(recipe, std::move(stream));
}

Result<std::unique_ptr<RandomSet>> open_random(const Recipe& recipe,
                                               std::uint64_t seed) {
  RandomSpec spec;
  spec.seed = seed;
  spec.examples = recipe.integer("examples", 0);
  PLIMSOLL_ASSIGN(spec.features,
                  extents_of("features", recipe.integers("features")));
  PLIMSOLL_ASSIGN(spec.label_shape,
                  extents_of("labels", recipe.integers("label_shape")));
  spec.classes = recipe.integer("label_count", 0);
  spec.feature_classes = recipe.integer("classes", 0);
  const std::string labels = recipe.text("labels", "binary");
  if (labels == "uniform") spec.labels = RandomLabels::uniform;
  if (labels == "classes") spec.labels = RandomLabels::classes;
  return RandomSet::create(spec);
}

Result<std::unique_ptr<NpySet>> open_npy(const Recipe& recipe) {
  const std::string pages = recipe.text("page_cache", "auto");
  return NpySet::open({{"features", recipe.text("features", "")},
                       {"labels", recipe.text("labels", "")}},
                      pages == "keep"   ? PageCache::keep
                      : pages == "drop" ? PageCache::drop
                                        : PageCache::automatic);
}

Result<Source> open_alone(const Recipe& recipe, std::uint64_t seed) {
  const std::string& name = recipe.name;
  if (recipe.set) {
    PLIMSOLL_ASSIGN(auto set, recipe.set());
    return source_over(std::move(set));
  }
  if (recipe.stream) {
    Source source;
    PLIMSOLL_ASSIGN(source.stream, recipe.stream());
    source.description = source.stream->name();
    return source;
  }
  if (name == "csv") return open_csv(recipe, seed);
  if (name == "tfrecord") return open_tfrecord(recipe, seed);
  if (name == "webdataset") return open_tar(recipe, seed);
  if (name == "lines") return open_lines(recipe, seed);
  if (name == "random") {
    PLIMSOLL_ASSIGN(auto set, open_random(recipe, seed));
    return source_over(std::move(set));
  }
  if (name == "npy") {
    PLIMSOLL_ASSIGN(auto set, open_npy(recipe));
    return source_over(std::move(set));
  }
  if (name == "npz") {
    PLIMSOLL_ASSIGN(auto set, NpzSet::open(recipe.text("path", ""),
                                           {recipe.text("features", "features"),
                                            recipe.text("labels", "labels")},
                                           {"features", "labels"}));
    return source_over(std::move(set));
  }
  if (name == "range") {
    PLIMSOLL_ASSIGN(auto set, RangeSet::create(recipe.integer("first", 0),
                                               recipe.integer("end", 0),
                                               recipe.integer("step", 1)));
    return source_over(std::move(set));
  }
  if (name == "images") {
    PLIMSOLL_ASSIGN(auto set, ImageFolder::open(recipe.text("folder", "")));
    return source_over(std::move(set));
  }
  return recipe.bad(fmt::format("there is no source `{}`", name));
}

}  // namespace

Source source_over(std::shared_ptr<const Indexed> set) {
  Source source;
  source.description = set->describe();
  source.set = std::move(set);
  return source;
}

Result<Source> open_source(const Recipe& recipe,
                           const PipelineOptions& options) {
  if (recipe.inputs.empty()) return open_alone(recipe, options.seed);
  return join_sources(recipe, options);
}

}  // namespace plimsoll::data
