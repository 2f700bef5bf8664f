// [data] of a job file.
#include <fmt/core.h>

#include "base/units.h"
#include "train/job_file/job_file_sections.h"
#include "train/job_file/recipe_reader.h"

namespace plimsoll::train {
namespace {

using std::string_view;

constexpr std::int64_t kMostExamples = std::int64_t{1} << 48;

std::string article(const std::string& name) {
  const bool vowel =
      std::string_view("aeio").find(name[0]) != string_view::npos;
  // "an npy", "an npz"
  return (vowel || name.starts_with("np") ? "an " : "a ") + name;
}

bool is_table(JobErrors& errors, const JobValue& item, const std::string& path,
              string_view like) {
  if (item.kind == JobValue::Kind::table) return true;
  errors.add(item, path,
             fmt::format("must be a table such as {}, not {}", like,
                         describe(item.kind)));
  return false;
}

// Their table becomes options of the source.
void read_labels(JobErrors& errors, const JobValue& value,
                 const std::string& path, data::Recipe& source) {
  std::string type;
  TableReader kind(errors, value, path, "labels");
  kind.require("type", "a `type`: " + list_of(label_types()));
  kind.read_name("type", label_types(), "kind of labels", type);
  if (errors.any()) return;

  static constexpr string_view kBinary[] = {"type"};
  static constexpr string_view kUniform[] = {"type", "shape"};
  static constexpr string_view kClasses[] = {"type", "count", "shape"};
  TableReader table(errors, value, path, fmt::format("{} labels", type));
  source.options["labels"] = type;
  if (type == "binary") {
    table.allow(kBinary);
  } else if (type == "uniform") {
    table.allow(kUniform);
    table.require("shape", "`shape`, of one example's label, as in [10]");
    std::vector<std::int64_t> shape;
    table.read_shape("shape", shape);
    source.options["label_shape"] = std::move(shape);
  } else {
    table.allow(kClasses);
    table.require("count", "`count`, the number of classes");
    std::int64_t count = 0;
    table.read("count", {.least = 2}, count);
    source.options["label_count"] = count;
    std::vector<std::int64_t> shape;  // none: one class an example
    table.read_shape("shape", shape);
    if (!shape.empty()) source.options["label_shape"] = std::move(shape);
  }
}

data::Recipe read_random(JobErrors& errors, const JobValue& value,
                         const std::string& path, bool joined) {
  std::vector<string_view> keys = {"type", "examples", "features", "classes",
                                   "labels"};
  if (joined) keys.push_back("stages");
  TableReader table(errors, value, path, "a random source");
  data::Recipe source;
  source.name = "random";
  source.where = table.place();
  table.allow(keys);
  table.require("examples", "`examples`, how many there are");
  table.require("features", "`features`, the shape of one, as in [1000]");
  table.require("labels", "`labels`, as in { type = \"binary\" }");
  std::int64_t examples = 0;
  std::vector<std::int64_t> features;
  table.read("examples", {1, kMostExamples}, examples);
  table.read_shape("features", features);
  if (table.has("classes")) {
    std::int64_t classes = 0;
    table.read("classes", IntegerRange{}, classes);
    source.options["classes"] = classes;
  }
  source.options["examples"] = examples;
  source.options["features"] = std::move(features);
  if (const JobValue* labels = table.table("labels"))
    read_labels(errors, *labels, table.path_of("labels"), source);
  return source;
}

data::Recipe read_stage(JobErrors& errors, const JobValue& value,
                        const std::string& path, const std::string& folder) {
  std::string name;
  if (!is_table(errors, value, path, "{ stage = \"shuffle\" }")) return {};
  TableReader kind(errors, value, path, "a stage");
  kind.require("stage", "a `stage`: " + list_of(stages()));
  kind.read_name("stage", stages(), "stage", name);
  if (errors.any()) return {};
  TableReader table(errors, value, path, fmt::format("a {} stage", name));
  static constexpr string_view kName[] = {"stage"};
  return read_recipe(table, *data::find_stage(name), kName, folder);
}

// Of a source that is joined: what happens to its elements before.
void read_inner_stages(JobErrors& errors, const JobValue& source,
                       const std::string& path, const std::string& folder,
                       std::vector<data::Recipe>& stages) {
  TableReader table(errors, source, path, "a source");
  const JobValue* list = table.array("stages");
  for (std::size_t i = 0; list && i < list->items.size(); ++i) {
    const std::string inner = fmt::format("{}.stages[{}]", path, i);
    stages.push_back(read_stage(errors, list->items[i], inner, folder));
    if (errors.any()) return;
    const std::string& name = stages.back().name;
    if (name == "prefetch" || data::makes_batches(stages.back())) {
      errors.add(list->items[i], inner,
                 fmt::format("`{}` has its place in data.pipeline", name));
    }
  }
}

// Sources within sources: more than this nobody means.
constexpr int kDeepest = 8;

data::Recipe read_source(JobErrors& errors, const JobValue& value,
                         const std::string& path, const std::string& folder,
                         int depth = 0);

void read_inputs(JobErrors& errors, TableReader& table, const std::string& path,
                 const std::string& folder, int depth,
                 std::vector<data::Recipe>& inputs) {
  table.require("sources", "`sources`, an array of two or more");
  const JobValue* list = table.array("sources");
  if (list == nullptr) return;
  if (list->items.size() < 2) {
    table.complain("sources", fmt::format("must hold two or more, not {}",
                                          list->items.size()));
  }
  if (depth == kDeepest) {
    table.complain("sources", fmt::format("lie more than {} deep", kDeepest));
  }
  for (std::size_t i = 0; i < list->items.size() && !errors.any(); ++i) {
    const JobValue& item = list->items[i];
    const std::string inner = fmt::format("{}.sources[{}]", path, i);
    if (!is_table(errors, item, inner, "{ type = \"npy\", ... }")) return;
    inputs.push_back(read_source(errors, item, inner, folder, depth + 1));
    read_inner_stages(errors, item, inner, folder, inputs.back().stages);
  }
}

data::Recipe read_source(JobErrors& errors, const JobValue& value,
                         const std::string& path, const std::string& folder,
                         int depth) {
  std::string type;
  TableReader kind(errors, value, path, "a source");
  kind.require("type", "a `type`: " + list_of(source_types()));
  kind.read_name("type", source_types(), "source", type);
  if (errors.any()) return {};
  if (type == "random") return read_random(errors, value, path, depth > 0);
  const data::RecipeDef& def = *data::find_source(type);
  TableReader table(errors, value, path, article(type) + " source");
  std::vector<string_view> keys = {"type"};
  if (def.joins) keys.push_back("sources");
  if (depth > 0) keys.push_back("stages");
  data::Recipe source = read_recipe(table, def, keys, folder);
  if (def.joins) {
    read_inputs(errors, table, path, folder, depth, source.inputs);
  }
  return source;
}

// Batches are made last, straight into the memory that training reads.
void read_pipeline(TableReader& table, const JobValue& list,
                   const std::string& folder,
                   std::vector<data::Recipe>& pipeline) {
  const std::string base = table.path_of("pipeline");
  std::string last;  // the batches or `prefetch`, once there was one
  bool batched = false;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const JobValue& item = list.items[i];
    const std::string path = fmt::format("{}[{}]", base, i);
    pipeline.push_back(read_stage(table.errors(), item, path, folder));
    if (table.errors().any()) return;
    const std::string& name = pipeline.back().name;
    const bool batches = data::makes_batches(pipeline.back());
    if (name == last || (batches && batched)) {
      table.errors().add(item, path, fmt::format("a second `{}`", name));
    } else if (last == "prefetch" || (batched && name != "prefetch")) {
      table.errors().add(item, path,
                         fmt::format("`{}` must come before `{}`", name, last));
    }
    if (batches || name == "prefetch") last = name;
    batched = batched || batches;
  }
  if (!batched) table.complain("pipeline", "has no { stage = \"batch\" }");
}

}  // namespace

void read_data(TableReader& table, const std::string& folder, DataSpec& data) {
  static constexpr string_view kKeys[] = {"source", "validation", "residency",
                                          "share",  "ordered",    "pipeline"};
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
  std::string share;
  table.read("share", share);
  if (!share.empty()) {
    const auto bytes = parse_size(share, 0);
    if (!bytes) table.complain("share", bytes.error().message);
    data.share_bytes = bytes ? *bytes : 0;
  }
  table.read("ordered", data.ordered);
  table.read_name("residency", residencies(), "residency", data.residency);
  if (const JobValue* list = table.array("pipeline")) {
    read_pipeline(table, *list, folder, data.pipeline);
  } else {
    data.pipeline = data::default_pipeline();
  }
}

}  // namespace plimsoll::train
