#include "train/job_file/layer_reader.h"

#include <fmt/core.h>

#include "device/device_name.h"
#include "train/job_file/job_names.h"
#include "train/job_file/utf8.h"
#include "train/layers/layer_def.h"

namespace plimsoll::train {
namespace {

class FieldReader {
 public:
  FieldReader(TableReader& table, const LayerKey& key, Layer& layer)
      : table_(table), key_(key), layer_(layer) {}

  void operator()(bool Layer::*field) const {
    table_.read(key_.key, layer_.*field);
  }
  void operator()(std::int64_t Layer::*field) const {
    table_.read(key_.key, key_.integers, layer_.*field);
  }
  void operator()(double Layer::*field) const {
    table_.read(key_.key, key_.reals, layer_.*field);
  }
  void operator()(std::string Layer::*field) const {
    if (key_.names != nullptr) {
      table_.read_name(key_.key, key_.names(), key_.what, layer_.*field);
    } else {
      table_.read(key_.key, layer_.*field);
    }
  }
  void operator()(Size2 Layer::*field) const {
    const auto values = integers("an integer or a pair of them, as in [3, 5]");
    if (values.size() == 1) layer_.*field = {values[0], values[0]};
    if (values.size() == 2) layer_.*field = {values[0], values[1]};
    if (values.size() > 2) table_.complain(key_.key, "must be at most a pair");
  }
  void operator()(std::vector<std::int64_t> Layer::*field) const {
    if (const auto values = integers("an array of integers"); !values.empty()) {
      layer_.*field = values;
    }
  }
  void operator()(Padding Layer::*field) const {
    const JobValue* stated = table_.find(key_.key);
    if (!stated) return;
    if (stated->kind == JobValue::Kind::string) {
      static constexpr std::string_view kRules[] = {"valid", "same"};
      table_.read_name(key_.key, kRules, "padding", (layer_.*field).rule);
      return;
    }
    const auto values = integers(
        "\"valid\", \"same\", an integer, [height, width] or [top, bottom, "
        "left, right]",
        0);
    if (values.size() == 1) layer_.*field = values[0];
    if (values.size() == 2) layer_.*field = {values[0], values[1]};
    if (values.size() == 4) {
      layer_.*field = {values[0], values[1], values[2], values[3]};
    }
    if (values.size() == 3 || values.size() > 4) {
      table_.complain(key_.key, "must be of 1, 2 or 4 integers");
    }
  }

 private:
  std::vector<std::int64_t> integers(std::string_view right) const {
    return integers(right, key_.integers.least);
  }
  // One or several, each in the range; none at all after a complaint.
  std::vector<std::int64_t> integers(std::string_view right,
                                     std::int64_t least) const {
    const JobValue* stated = table_.find(key_.key);
    if (!stated) return {};
    std::vector<std::int64_t> values;
    const auto add = [&](const JobValue& item) {
      if (item.kind != JobValue::Kind::integer) {
        table_.complain(key_.key, fmt::format("must be {}, not {}", right,
                                              describe(item.kind)));
      } else if (item.integer < least || item.integer > key_.integers.most) {
        table_.complain(key_.key,
                        fmt::format("must be of integers from {} to {}, not {}",
                                    least, key_.integers.most, item.integer));
      } else {
        values.push_back(item.integer);
      }
    };
    if (stated->kind != JobValue::Kind::array) {
      add(*stated);
    } else if (stated->items.empty()) {
      table_.complain(key_.key, "must not be empty");
    }
    for (const JobValue& item : stated->items) add(item);
    return table_.errors().any() ? std::vector<std::int64_t>() : values;
  }

  TableReader& table_;
  const LayerKey& key_;
  Layer& layer_;
};

void read_keys(TableReader& table, const LayerDef& def, Layer& layer) {
  std::vector<std::string_view> known = {"type", "name", "inputs"};
  for (const LayerKey& key : def.keys) known.push_back(key.key);
  known.push_back("device");
  known.push_back("precision");
  table.allow(known);
  for (const LayerKey& key : def.keys) {
    if (!key.needed.empty()) {
      std::string right(key.needed);
      if (key.names != nullptr) right += ": " + list_of(key.names());
      table.require(key.key, right);
    }
    std::visit(FieldReader(table, key, layer), key.field);
  }
}

}  // namespace

LayerSpec read_layer(JobErrors& errors, const JobValue& value,
                     const std::string& path) {
  LayerSpec layer;
  TableReader kind(errors, value, path, "a layer");
  kind.require("type", "a `type`: " + list_of(layer_types()));
  kind.read_name("type", layer_types(), "layer", layer.type);
  if (errors.any()) return layer;

  const LayerDef& def = *find_layer(layer.type);
  if (def.set_defaults != nullptr) def.set_defaults(layer);
  const char* const an = layer.type.find_first_of("ae") == 0 ? "n" : "";
  TableReader table(errors, value, path,
                    fmt::format("a{} {} layer", an, layer.type));
  layer.where = table.place();
  read_keys(table, def, layer);
  table.read("name", layer.name);
  if (!is_utf8(layer.name)) table.complain("name", "a name must be UTF-8");
  table.read_texts("inputs", layer.inputs);
  if (table.has("negative_slope") && layer.activation != "leaky_relu") {
    table.complain("negative_slope", "only leaky_relu has one");
  }
  table.read_name("precision", precisions(), "precision", layer.precision);
  table.read("device", layer.device);
  if (table.has("device") && layer.device != "cpu" &&
      !cuda_ordinal(layer.device)) {
    table.complain("device", "must be cpu or cuda:0, cuda:1, ...");
  }
  return layer;
}

}  // namespace plimsoll::train
