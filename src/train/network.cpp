#include "train/network.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "train/layers/layer_values.h"
#include "train/precision.h"

namespace plimsoll::train {
namespace {

using graph::Builder;
using graph::ValueId;

Error wrong(const LayerSpec& layer, const std::string& name,
            const std::string& what) {
  const std::string where =
      layer.where.empty() ? name : layer.where + " (" + name + ")";
  return {ErrorCode::bad_input, where + ": " + what};
}

Error unknown(const LayerSpec& layer, const std::string& name, const char* key,
              const std::string& other) {
  return wrong(layer, name,
               fmt::format("{}: there is no layer `{}` above it (`input` is "
                           "the model's input)",
                           key, other));
}

// Which values layers read, by position in the model; -1 is its input.
class Wiring {
 public:
  static Result<Wiring> of(const ModelSpec& model) {
    Wiring wiring;
    wiring.names_ = layer_names(model);
    std::map<std::string, int, std::less<>> known = {{kModelInput, -1}};
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      const LayerSpec& layer = model.layers[i];
      const std::string& name = wiring.names_[i];
      const int before = static_cast<int>(i) - 1;
      std::vector<int> reads;
      for (const std::string& input : layer.inputs) {
        const auto at = known.find(input);
        if (at == known.end()) return unknown(layer, name, "inputs", input);
        reads.push_back(at->second);
      }
      if (reads.empty()) reads = {before};
      wiring.masks_.emplace_back();
      if (!layer.mask.empty()) {
        const auto at = known.find(layer.mask);
        if (at == known.end()) return unknown(layer, name, "mask", layer.mask);
        wiring.masks_.back() = at->second;
      }
      wiring.reads_.push_back(std::move(reads));
      if (!known.emplace(name, static_cast<int>(i)).second) {
        return wrong(layer, name,
                     name == kModelInput
                         ? "`input` is the model's input: give the layer "
                           "another name"
                         : fmt::format("`{}` names another layer too", name));
      }
    }
    PLIMSOLL_RETURN_IF_ERROR(wiring.check_all_read(model));
    return wiring;
  }

  const std::vector<int>& reads(std::size_t layer) const {
    return reads_[layer];
  }
  const std::optional<int>& mask(std::size_t layer) const {
    return masks_[layer];
  }
  const std::string& name(std::size_t layer) const { return names_[layer]; }

 private:
  // What nobody reads would be left out in silence.
  Status check_all_read(const ModelSpec& model) const {
    std::vector<bool> read(model.layers.size(), false);
    const auto mark = [&](int position) {
      if (position >= 0) read[static_cast<std::size_t>(position)] = true;
    };
    for (const auto& layer : reads_) {
      std::for_each(layer.begin(), layer.end(), mark);
    }
    for (const auto& mask : masks_) {
      if (mask) mark(*mask);
    }
    for (std::size_t i = 0; i + 1 < read.size(); ++i) {
      if (read[i]) continue;
      return wrong(model.layers[i], names_[i],
                   "no layer reads what it gives, and only the last layer's "
                   "value is the model's output");
    }
    return {};
  }

  std::vector<std::vector<int>> reads_;
  std::vector<std::optional<int>> masks_;
  std::vector<std::string> names_;
};

Result<graph::Place> place_of(const LayerSpec& layer, const std::string& name,
                              const std::string& home) {
  const std::string& device = layer.device;
  if (device.empty() || home.empty() || device == home) {
    return graph::Place::home;
  }
  if (device == "cpu") return graph::Place::host;
  return wrong(
      layer, name,
      home == "cpu"
          ? fmt::format("is placed on {0}, but the job runs on the CPU alone: "
                        "give it the device, as in --device {0}",
                        device)
          : fmt::format("is placed on {}, but the job runs on {}: one process "
                        "drives one device, and the CPU beside it",
                        device, home));
}

Status check_inputs(const LayerDef& def, const LayerSpec& layer,
                    const std::string& name, std::size_t given) {
  const auto least = static_cast<std::size_t>(def.least_inputs);
  const auto most = static_cast<std::size_t>(def.most_inputs);
  if (given >= least && given <= most) return {};
  const std::string right = least == most ? fmt::format("{}", least)
                            : def.most_inputs == kAnyNumber
                                ? fmt::format("at least {}", least)
                                : fmt::format("{} to {}", least, most);
  return wrong(layer, name,
               fmt::format("{} takes {} input{}, not {}", def.type, right,
                           right == "1" ? "" : "s", given));
}

Status check_values(const Builder& builder, const LayerDef& def,
                    const LayerSpec& layer, const std::string& name,
                    const std::vector<ValueId>& inputs) {
  const std::string why = wrong_value(def, layer);
  if (!why.empty()) return wrong(layer, name, why);
  if (def.indices != LayerDef::Indices::refused) return {};
  for (const ValueId input : inputs) {
    if (is_floating(builder.type(input).dtype)) continue;
    return wrong(layer, name,
                 fmt::format("{} cannot work on class indices: put an "
                             "embedding before it",
                             def.type));
  }
  return {};
}

Status check_mask(const LayerDef& def, const LayerSpec& layer,
                  const std::string& name) {
  if (layer.mask.empty()) return {};
  const bool takes =
      std::any_of(def.keys.begin(), def.keys.end(),
                  [](const LayerKey& key) { return key.key == "mask"; });
  if (takes) return {};
  return wrong(layer, name, fmt::format("{} takes no `mask`", def.type));
}

Status check_precision(const LayerSpec& layer, const std::string& name,
                       DType job) {
  if (layer.precision.empty()) return {};
  const auto dtype = parse_dtype(layer.precision);
  if (!dtype || !is_floating(*dtype)) {
    return wrong(layer, name,
                 fmt::format("precision `{}` is unknown: known are f32, f64, "
                             "bf16, f16",
                             layer.precision));
  }
  if (*dtype == DType::f64 && job != DType::f64) {
    return wrong(layer, name,
                 fmt::format("computes in f64, but the job's parameters are "
                             "f32: train in f64, as in --precision f64"));
  }
  return {};
}

// Whether all that a layer does is to move rows of the last axis, each whole.
bool moves_rows(const LayerSpec& layer, const Shape& from, const Shape& to) {
  if (from.extent(-1) != to.extent(-1)) return false;
  if (layer.type == "permute") {
    return layer.dims.back() == std::ssize(layer.dims);
  }
  if (layer.type == "activation") {
    return layer.activation.empty() || layer.activation == "linear";
  }
  return layer.type == "flatten" || layer.type == "reshape";
}

// Probabilities whose rows only move stay probabilities: their logits go the
// same way.
Status pass_softmax_on(const LayerDef& def, LayerContext& context,
                       const LayerResult& read, bool has_parameters,
                       LayerResult& result) {
  if (read.softmax_layer.empty() || has_parameters || !context.builder.ok()) {
    return {};
  }
  result.softmax_layer = read.softmax_layer;
  result.behind_softmax = read.behind_softmax;
  const Shape to = context.builder.type(result.value).shape;
  const bool rows = moves_rows(context.layer, context.shape(), to);
  if (!rows && result.behind_softmax.empty()) {
    result.behind_softmax = context.name;
  }
  if (!rows || read.activation != "softmax") return {};
  context.inputs = {in_dtype(context.builder, read.logits, context.dtype())};
  PLIMSOLL_ASSIGN(const LayerResult moved, def.build(context));
  result.logits = moved.value;
  result.activation = read.activation;
  return {};
}

// Larger than any memory: caught before sizes are multiplied out.
Status check_size(const Builder& builder, const LayerSpec& layer,
                  const std::string& name, const std::string& what,
                  ValueId value) {
  const Shape& shape = builder.type(value).shape;
  double elements = 1;
  for (const Dim& dim : shape.dims()) {
    elements *= static_cast<double>(dim.size);
  }
  if (elements < 0x1p44) return {};
  return wrong(layer, name,
               fmt::format("{} {} has more than 2^44 elements", what,
                           shape.to_string()));
}

}  // namespace

std::vector<std::string> layer_names(const ModelSpec& model) {
  std::set<std::string> given;
  for (const LayerSpec& layer : model.layers) given.insert(layer.name);
  std::map<std::string, int> counts;
  std::vector<std::string> names;
  for (const LayerSpec& layer : model.layers) {
    int& count = ++counts[layer.type];
    if (!layer.name.empty()) {
      names.push_back(layer.name);
      continue;
    }
    const auto counted = [&] {
      return fmt::format("{}_{}", layer.type, count);
    };
    while (given.contains(counted())) ++count;
    names.push_back(counted());
  }
  return names;
}

bool uses_dropout(const ModelSpec& model) {
  return std::any_of(model.layers.begin(), model.layers.end(),
                     [](const LayerSpec& layer) {
                       return layer.type == "dropout" && layer.rate > 0;
                     });
}

bool takes_indices(const ModelSpec& model) {
  const auto wiring = Wiring::of(model);
  if (!wiring) return false;  // named when the network is built
  std::vector<bool> moved(model.layers.size(), false);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const LayerDef* def = find_layer(model.layers[i].type);
    if (def == nullptr || def->indices == LayerDef::Indices::refused) continue;
    const auto& reads = wiring->reads(i);
    const bool given = std::any_of(reads.begin(), reads.end(), [&](int read) {
      return read < 0 || moved[static_cast<std::size_t>(read)];
    });
    if (!given) continue;
    if (def->indices == LayerDef::Indices::read) return true;
    moved[i] = true;
  }
  return false;
}

std::vector<IndexColumns> index_columns(const ModelSpec& model) {
  const auto wiring = Wiring::of(model);
  if (!wiring || model.input.empty()) return {};
  // What a layer gives of the input as it was; sliced only while columns are
  // columns: other slices take out what is not known here.
  struct Part {
    std::int64_t begin, end;
    bool sliceable;
  };
  const Part whole{0, model.input.back(), true};
  std::vector<std::optional<Part>> given(model.layers.size());
  std::vector<IndexColumns> found;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const auto& reads = wiring->reads(i);
    const LayerSpec& layer = model.layers[i];
    const LayerDef* def = find_layer(layer.type);
    if (def == nullptr || reads.size() != 1) continue;
    const auto part = reads[0] < 0 ? std::optional(whole)
                                   : given[static_cast<std::size_t>(reads[0])];
    if (!part || def->indices == LayerDef::Indices::refused) continue;
    if (def->indices == LayerDef::Indices::read) {
      found.push_back({part->begin, part->end, layer.input_dim});
    } else if (layer.type != "slice") {
      const bool moved = layer.type != "flatten" || model.input.size() > 1;
      given[i] = {part->begin, part->end, part->sliceable && !moved};
    } else if (part->sliceable) {
      given[i] = {part->begin + layer.begin, part->begin + layer.end, true};
    }
  }
  return found;
}

bool uses_batch_statistics(const ModelSpec& model) {
  return std::any_of(model.layers.begin(), model.layers.end(),
                     [](const LayerSpec& layer) {
                       return layer.type == "batch_normalization";
                     });
}

Status check_precisions(const ModelSpec& model, DType precision) {
  const auto names = layer_names(model);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    PLIMSOLL_RETURN_IF_ERROR(
        check_precision(model.layers[i], names[i], precision));
  }
  return {};
}

DType input_dtype(const ModelSpec& model, DType precision) {
  const auto wiring = Wiring::of(model);
  if (!wiring) return master_dtype(precision);  // named later
  std::optional<DType> all;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const auto& reads = wiring->reads(i);
    if (std::find(reads.begin(), reads.end(), -1) == reads.end()) continue;
    const DType dtype = compute_dtype(model.layers[i], precision);
    if (all && *all != dtype) return master_dtype(precision);
    all = dtype;
  }
  return all.value_or(master_dtype(precision));
}

Result<Network> build_shapes(Builder& builder, const ModelSpec& model,
                             DType precision) {
  std::vector<Dim> dims = {Dim::batch()};
  dims.insert(dims.end(), model.input.begin(), model.input.end());
  const ValueId input = builder.input(
      "features",
      {takes_indices(model) ? DType::i32 : DType::f32, Shape(std::move(dims))});
  NetworkOptions options;
  options.precision = precision;
  options.home.clear();  // where layers run makes no difference here
  return build_network(builder, model, input, options);
}

Result<Network> build_network(Builder& builder, const ModelSpec& model,
                              ValueId input, const NetworkOptions& options) {
  if (model.layers.empty()) {
    return Error{ErrorCode::bad_input,
                 "model.layers: a model needs at least "
                 "one layer"};
  }
  PLIMSOLL_ASSIGN(const Wiring wiring, Wiring::of(model));
  Network network;
  std::vector<LayerResult> made;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const LayerSpec& layer = model.layers[i];
    const std::string& name = wiring.name(i);
    const LayerDef* def = find_layer(layer.type);
    if (def == nullptr) {
      return wrong(layer, name,
                   fmt::format("unknown layer type `{}`: known are {}",
                               layer.type, fmt::join(layer_types(), ", ")));
    }
    const auto value_at = [&](int position) {
      return position < 0 ? input
                          : made[static_cast<std::size_t>(position)].value;
    };
    std::vector<ValueId> values;
    for (const int read : wiring.reads(i)) values.push_back(value_at(read));
    PLIMSOLL_RETURN_IF_ERROR(check_inputs(*def, layer, name, values.size()));
    PLIMSOLL_RETURN_IF_ERROR(check_mask(*def, layer, name));
    PLIMSOLL_RETURN_IF_ERROR(check_values(builder, *def, layer, name, values));
    PLIMSOLL_ASSIGN(const graph::Place place,
                    place_of(layer, name, options.home));
    PLIMSOLL_RETURN_IF_ERROR(check_precision(layer, name, options.precision));
    builder.set_scope(name);
    builder.set_place(place);
    for (ValueId& value : values) {
      value = in_dtype(builder, value, compute_dtype(layer, options.precision));
    }
    const std::size_t before = network.parameters.size();
    LayerContext context(builder, options, layer, name, static_cast<int>(i),
                         std::move(values), network.parameters,
                         network.statistics);
    if (wiring.mask(i)) context.mask = value_at(*wiring.mask(i));
    PLIMSOLL_ASSIGN(LayerResult result, def->build(context));
    if (result.activation == "softmax") {
      result.softmax_layer = name;
    } else if (wiring.reads(i).size() == 1 && wiring.reads(i)[0] >= 0) {
      PLIMSOLL_RETURN_IF_ERROR(pass_softmax_on(
          *def, context, made[static_cast<std::size_t>(wiring.reads(i)[0])],
          network.parameters.size() > before, result));
    }
    if (!builder.ok()) {
      Error error = builder.status().error();
      if (!layer.where.empty()) {
        error.message = layer.where + ": " + error.message;
      }
      return error;
    }
    for (std::size_t j = before; j < network.parameters.size(); ++j) {
      const Parameter& one = network.parameters[j];
      PLIMSOLL_RETURN_IF_ERROR(
          check_size(builder, layer, name, one.name, one.value));
    }
    PLIMSOLL_RETURN_IF_ERROR(
        check_size(builder, layer, name, "its output", result.value));
    network.layer_types.push_back(builder.type(result.value));
    made.push_back(std::move(result));
  }
  const DType master = master_dtype(options.precision);
  network.output = in_dtype(builder, made.back().value, master);
  network.logits = in_dtype(builder, made.back().logits, master);
  network.last_activation = made.back().activation;
  network.softmax_layer = made.back().softmax_layer;
  network.behind_softmax = made.back().behind_softmax;
  network.head = made.back().head;
  // Its loss is what sums are in: not the master type of a job in f64 whose
  // last layer is narrower.
  if (network.head &&
      wide_dtype(builder.type(network.head->x).dtype) != master) {
    network.head.reset();
  }
  builder.set_place(graph::Place::home);
  return network;
}

}  // namespace plimsoll::train
