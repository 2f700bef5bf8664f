// [data] of a job file.
#include <fmt/format.h>

#include "base/units.h"
#include "train/job_file/job_file_sections.h"
#include "train/job_file/recipe_reader.h"

namespace plimsoll::train {
namespace {

using std::string_view;

constexpr std::int64_t kMostExamples = std::int64_t{1} << 48;

void read_labels(JobErrors& errors, const JobValue& value,
                 const std::string& path, SourceSpec& source) {
  std::string type;
  TableReader kind(errors, value, path, "labels");
  kind.require("type", "a `type`: " + list_of(label_types()));
  kind.read_name("type", label_types(), "kind of labels", type);
  if (errors.any()) return;

  static constexpr string_view kBinary[] = {"type"};
  static constexpr string_view kUniform[] = {"type", "shape"};
  static constexpr string_view kClasses[] = {"type", "count"};
  TableReader table(errors, value, path, fmt::format("{} labels", type));
  if (type == "binary") {
    source.label_kind = LabelKind::binary;
    table.allow(kBinary);
  } else if (type == "uniform") {
    source.label_kind = LabelKind::uniform;
    table.allow(kUniform);
    table.require("shape", "`shape`, of one example's label, as in [10]");
    table.read_shape("shape", source.label_shape);
  } else {
    source.label_kind = LabelKind::classes;
    table.allow(kClasses);
    table.require("count", "`count`, the number of classes");
    table.read("count", {.least = 2}, source.label_classes);
  }
}

SourceSpec read_source(JobErrors& errors, const JobValue& value,
                       const std::string& path, const std::string& folder) {
  SourceSpec source;
  TableReader kind(errors, value, path, "a source");
  kind.require("type", "a `type`: " + list_of(source_types()));
  kind.read_name("type", source_types(), "source", source.type);
  if (errors.any()) return source;

  if (const data::RecipeDef* def = data::find_source(source.type)) {
    TableReader table(errors, value, path,
                      fmt::format("a source of type {}", source.type));
    source.recipe = read_recipe(table, *def, "type", folder);
    source.where = table.place();
    return source;
  }
  static constexpr string_view kRandom[] = {"type", "examples", "features",
                                            "labels"};
  static constexpr string_view kNpy[] = {"type", "features", "labels"};
  TableReader table(
      errors, value, path,
      fmt::format("{} source", source.type == "npy" ? "an npy" : "a random"));
  source.where = table.place();
  if (source.type == "npy") {
    table.allow(kNpy);
    table.require("features", "`features`, the name of an npy file");
    table.require("labels", "`labels`, the name of an npy file");
    table.read("features", source.features_path);
    table.read("labels", source.labels_path);
    source.features_path = resolve_path(folder, source.features_path);
    source.labels_path = resolve_path(folder, source.labels_path);
    return source;
  }
  table.allow(kRandom);
  table.require("examples", "`examples`, how many there are");
  table.require("features", "`features`, the shape of one, as in [1000]");
  table.require("labels", "`labels`, as in { type = \"binary\" }");
  table.read("examples", {1, kMostExamples}, source.examples);
  table.read_shape("features", source.features);
  if (const JobValue* labels = table.table("labels"))
    read_labels(errors, *labels, table.path_of("labels"), source);
  return source;
}

data::Recipe read_stage(JobErrors& errors, const JobValue& value,
                        const std::string& path, const std::string& folder) {
  std::string name;
  TableReader kind(errors, value, path, "a stage");
  kind.require("stage", "a `stage`: " + list_of(stages()));
  kind.read_name("stage", stages(), "stage", name);
  if (errors.any()) return {};
  TableReader table(errors, value, path, fmt::format("a {} stage", name));
  return read_recipe(table, *data::find_stage(name), "stage", folder);
}

// Batches are made last, straight into the memory that training reads.
void read_pipeline(TableReader& table, const JobValue& list,
                   const std::string& folder,
                   std::vector<data::Recipe>& pipeline) {
  const std::string base = table.path_of("pipeline");
  std::string last;  // `batch` or `prefetch`, once there was one
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const JobValue& item = list.items[i];
    const std::string path = fmt::format("{}[{}]", base, i);
    if (item.kind != JobValue::Kind::table) {
      table.errors().add(
          item, path,
          fmt::format("must be a table such as {{ stage = \"shuffle\" }}, "
                      "not {}",
                      describe(item.kind)));
      return;
    }
    pipeline.push_back(read_stage(table.errors(), item, path, folder));
    if (table.errors().any()) return;
    const std::string& name = pipeline.back().name;
    if (name == last) {
      table.errors().add(item, path, fmt::format("a second `{}`", name));
    } else if (last == "prefetch" || (last == "batch" && name != "prefetch")) {
      table.errors().add(item, path,
                         fmt::format("`{}` must come before `{}`", name, last));
    }
    if (name == "batch" || name == "prefetch") last = name;
  }
  for (const data::Recipe& stage : pipeline) {
    if (stage.name == "batch") return;
  }
  table.complain("pipeline", "has no { stage = \"batch\" }");
}

}  // namespace

void read_data(TableReader& table, const std::string& folder, DataSpec& data) {
  static constexpr string_view kKeys[] = {"source", "validation", "residency",
                                          "share", "pipeline"};
  table.allow(kKeys);
  table.require("source",
                "a `source`, as in { type = \"npy\", features = "
                "\"x.npy\", labels = \"y.npy\" }");
  if (const JobValue* source = table.table("source")) {
    data.source =
        read_source(table.errors(), *source, table.path_of("source"), folder);
  }
  if (const JobValue* source = table.table("validation")) {
    data.validation = read_source(table.errors(), *source,
                                  table.path_of("validation"), folder);
  }
  table.read("share", data.share);
  if (data.share && !table.errors().any()) {
    const auto bytes = parse_size(*data.share, 0);
    if (!bytes) table.complain("share", bytes.error().message);
  }
  table.read_name("residency", residencies(), "residency", data.residency);
  if (const JobValue* list = table.array("pipeline")) {
    read_pipeline(table, *list, folder, data.pipeline);
  } else {
    data.pipeline = data::default_pipeline();
  }
}

}  // namespace plimsoll::train
