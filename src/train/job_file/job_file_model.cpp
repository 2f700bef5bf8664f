// [model] and [train] of a job file.
#include <fmt/core.h>

#include <array>
#include <set>

#include "base/units.h"
#include "device/device_name.h"
#include "train/job_file/job_file_sections.h"
#include "train/job_file/utf8.h"

namespace plimsoll::train {
namespace {

using std::string_view;

constexpr RealRange kAboveZero = {.least = 0, .least_is_outside = true};
constexpr RealRange kFraction = {.least = 0, .below = 1};

Names keys_of_layer(const std::string& type) {
  static constexpr string_view kDense[] = {"type",
                                           "name",
                                           "units",
                                           "activation",
                                           "use_bias",
                                           "kernel_initializer",
                                           "bias_initializer",
                                           "negative_slope",
                                           "device"};
  static constexpr string_view kActivation[] = {"type", "name", "activation",
                                                "negative_slope", "device"};
  static constexpr string_view kDropout[] = {"type", "name", "rate", "device"};
  static constexpr string_view kFlatten[] = {"type", "name", "device"};
  static constexpr string_view kEmbedding[] = {
      "type",       "name",   "input_dim",
      "output_dim", "device", "embeddings_initializer"};
  static constexpr string_view kLayerNorm[] = {"type",  "name",   "epsilon",
                                               "scale", "center", "device"};
  static constexpr string_view kRmsNorm[] = {"type", "name", "epsilon",
                                             "device"};
  static constexpr string_view kGroupNorm[] = {
      "type", "name", "groups", "epsilon", "scale", "center", "device"};
  static constexpr string_view kBatchNorm[] = {
      "type", "name", "momentum", "epsilon", "scale", "center", "device"};
  if (type == "dense") return kDense;
  if (type == "embedding") return kEmbedding;
  if (type == "activation") return kActivation;
  if (type == "dropout") return kDropout;
  if (type == "layer_normalization") return kLayerNorm;
  if (type == "rms_normalization") return kRmsNorm;
  if (type == "group_normalization") return kGroupNorm;
  if (type == "batch_normalization") return kBatchNorm;
  return kFlatten;
}

LayerSpec read_layer(JobErrors& errors, const JobValue& value,
                     const std::string& path) {
  LayerSpec layer;
  TableReader kind(errors, value, path, "a layer");
  kind.require("type", "a `type`: " + list_of(layer_types()));
  kind.read_name("type", layer_types(), "layer", layer.type);
  if (errors.any()) return layer;

  const char* const an = layer.type.find_first_of("ae") == 0 ? "n" : "";
  TableReader table(errors, value, path,
                    fmt::format("a{} {} layer", an, layer.type));
  layer.where = table.place();
  table.allow(keys_of_layer(layer.type));
  table.read("name", layer.name);
  if (!is_utf8(layer.name)) table.complain("name", "a name must be UTF-8");
  table.read_name("activation", activations(), "activation", layer.activation);
  if (layer.type == "dense") {
    table.require("units", "`units`, the number of its outputs");
    table.read("units", IntegerRange{}, layer.units);
    table.read("use_bias", layer.use_bias);
    table.read_name("kernel_initializer", initializers(), "initializer",
                    layer.kernel_initializer);
    table.read_name("bias_initializer", initializers(), "initializer",
                    layer.bias_initializer);
  } else if (layer.type == "embedding") {
    table.require("input_dim", "`input_dim`, the number of classes");
    table.require("output_dim", "`output_dim`, the width of a row");
    table.read("input_dim", IntegerRange{}, layer.input_dim);
    table.read("output_dim", IntegerRange{}, layer.output_dim);
    table.read_name("embeddings_initializer", initializers(), "initializer",
                    layer.embeddings_initializer);
  } else if (layer.type == "activation") {
    table.require("activation", "`activation`: " + list_of(activations()));
  } else if (layer.type == "dropout") {
    table.require("rate", "`rate`, the share of values set to zero");
    table.read("rate", kFraction, layer.rate);
  }
  if (layer.type == "rms_normalization") layer.epsilon = 1e-6;
  table.read("epsilon", kAboveZero, layer.epsilon);
  table.read("scale", layer.scale);
  table.read("center", layer.center);
  table.read("groups", IntegerRange{}, layer.groups);
  table.read("momentum", kFraction, layer.momentum);
  if (table.has("negative_slope") && layer.activation != "leaky_relu") {
    table.complain("negative_slope", "only leaky_relu has one");
  }
  table.read("negative_slope", RealRange{}, layer.negative_slope);
  table.read("device", layer.device);
  if (table.has("device") && layer.device != "cpu" &&
      !cuda_ordinal(layer.device)) {
    table.complain("device", "must be cpu or cuda:0, cuda:1, ...");
  }
  return layer;
}

Names keys_of_optimizer(const std::string& type) {
  static constexpr string_view kSgd[] = {"type", "learning_rate", "momentum"};
  static constexpr std::array<string_view, 6> kAdamW = {
      "type", "learning_rate", "beta_1", "beta_2", "epsilon", "weight_decay"};
  if (type == "sgd") return kSgd;
  return Names(kAdamW).first(type == "adam" ? 5 : 6);
}

// The defaults are Keras's, which differ between the optimisers.
OptimizerSpec read_optimizer(JobErrors& errors, const JobValue& value,
                             const std::string& path) {
  OptimizerSpec optimizer;
  TableReader kind(errors, value, path, "an optimizer");
  kind.require("type", "a `type`: " + list_of(optimizers()));
  kind.read_name("type", optimizers(), "optimizer", optimizer.type);
  if (errors.any()) return optimizer;

  TableReader table(errors, value, path, optimizer.type);
  table.allow(keys_of_optimizer(optimizer.type));
  if (optimizer.type == "sgd") optimizer.learning_rate = 0.01;
  table.read("learning_rate", kAboveZero, optimizer.learning_rate);
  table.read("momentum", kFraction, optimizer.momentum);
  table.read("beta_1", kFraction, optimizer.beta_1);
  table.read("beta_2", kFraction, optimizer.beta_2);
  table.read("epsilon", kAboveZero, optimizer.epsilon);
  table.read("weight_decay", RealRange{}, optimizer.weight_decay);
  return optimizer;
}

}  // namespace

void read_model(TableReader& table, ModelSpec& model) {
  static constexpr string_view kKeys[] = {"input", "layers"};
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

void read_train(TableReader& table, TrainSpec& train) {
  static constexpr string_view kKeys[] = {"batch", "epochs",  "optimizer",
                                          "loss",  "metrics", "precision",
                                          "tf32",  "seed"};
  table.allow(kKeys);
  table.read("batch", IntegerRange{}, train.batch);
  table.read("epochs", IntegerRange{}, train.epochs);
  table.read("seed", {0, std::numeric_limits<std::int64_t>::max()}, train.seed);
  table.require("loss", "a `loss`: " + list_of(losses()));
  table.read_name("loss", losses(), "loss", train.loss);
  table.read_names("metrics", metrics(), "metric", train.metrics);
  if (const JobValue* value = table.table("optimizer")) {
    train.optimizer =
        read_optimizer(table.errors(), *value, table.path_of("optimizer"));
  }
  std::string precision = "f32";
  table.read_name("precision", precisions(), "precision", precision);
  train.precision = parse_dtype(precision).value_or(DType::f32);
  table.read("tf32", train.tf32);
}

void read_memory(TableReader& table, MemorySpec& memory) {
  static constexpr string_view kKeys[] = {"host", "device", "pinned", "growth"};
  table.allow(kKeys);
  table.read("host", memory.host);
  table.read("device", memory.device);
  table.read("pinned", memory.pinned);
  table.read("growth", memory.growth);
  // Only the form is checked: what a percentage is of is not known here.
  constexpr std::int64_t kAnyWhole = std::int64_t{1} << 40;
  const auto check = [&](std::string_view key,
                         const std::optional<std::string>& size) {
    if (!size) return;
    if (const auto bytes = parse_size(*size, kAnyWhole); !bytes)
      table.complain(key, bytes.error().message);
  };
  check("host", memory.host);
  check("device", memory.device);
}

}  // namespace plimsoll::train
