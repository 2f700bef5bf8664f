// [model] of a job file.
#include <fmt/core.h>

#include <set>

#include "train/job_file/job_file_sections.h"
#include "train/job_file/layer_reader.h"

namespace plimsoll::train {

void read_model(TableReader& table, ModelSpec& model) {
  static constexpr std::string_view kKeys[] = {"input", "layers"};
  table.allow(kKeys);
  table.require("input", "`input`, the shape of one example, as in [1000]");
  table.require("layers", "`layers`, an array of layers");
  table.read_shape("input", model.input);
  const JobValue* layers = table.array("layers");
  if (!layers) return;
  if (layers->items.empty()) table.complain("layers", "has no layer");
  std::set<std::string> names;
  for (std::size_t i = 0; i < layers->items.size(); ++i) {
    const JobValue& item = layers->items[i];
    const std::string path = fmt::format("{}[{}]", table.path_of("layers"), i);
    if (item.kind != JobValue::Kind::table) {
      table.errors().add(
          item, path,
          fmt::format("must be a table such as {{ type = \"dense\", units = 10 "
                      "}}, not {}",
                      describe(item.kind)));
      return;
    }
    model.layers.push_back(read_layer(table.errors(), item, path));
    const std::string& name = model.layers.back().name;
    if (!name.empty() && !names.insert(name).second) {
      table.errors().add(*item.find("name"), path + ".name",
                         fmt::format("`{}` names another layer too", name));
    }
  }
}

}  // namespace plimsoll::train
