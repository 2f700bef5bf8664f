// Types of layers: what each gives, what it holds, and what it refuses.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include "train/job_file/job_file.h"
#include "train/layers/layer_def.h"
#include "train/layers/layer_text.h"
#include "train/network.h"

namespace plimsoll::train {
namespace {

struct Made {
  std::string shape;  // of the output
  std::int64_t parameters = 0;
  std::string error;
};

Made build(const ModelSpec& model) {
  graph::Builder builder;
  const auto network = build_shapes(builder, model);
  if (!network) return {"", 0, network.error().message};
  Made made;
  made.shape = builder.type(network->output).shape.to_string();
  for (const Parameter& one : network->parameters) {
    made.parameters += builder.type(one.value).shape.elements();
  }
  return made;
}

LayerSpec spec_of(const Layer& layer) {
  LayerSpec spec;
  static_cast<Layer&>(spec) = layer;
  return spec;
}

// Layers one behind the other.
Made build(std::vector<std::int64_t> input, const std::vector<Layer>& layers) {
  ModelSpec model;
  model.input = std::move(input);
  for (const Layer& layer : layers) model.layers.push_back(spec_of(layer));
  return build(model);
}

// One layer that reads the input several times.
Made join(std::vector<std::int64_t> input, Layer layer, std::size_t times) {
  layer.inputs.assign(times, kModelInput);
  return build(std::move(input), {layer});
}

TEST(Layers, GiveTheShapesOfKeras) {
  struct Case {
    std::vector<std::int64_t> input;
    Layer layer;
    std::string shape;
    std::int64_t parameters;
  };
  const Layer valid = Conv2D(8, {3, 5}, {.strides = {2, 1}});
  const Case cases[] = {
      {{9, 9, 4}, valid, "[B, 4, 5, 8]", 3 * 5 * 4 * 8 + 8},
      {{9, 9, 4},
       Conv2D(8, {3, 3}, {.strides = {2, 2}, .padding = "same"}),
       "[B, 5, 5, 8]",
       296},
      {{9, 9, 4}, Conv2D(8, {3, 3}, {.padding = 1}), "[B, 9, 9, 8]", 296},
      {{9, 9, 4},
       Conv2D(8, {3, 3}, {.padding = {0, 1, 2, 3}, .use_bias = false}),
       "[B, 8, 12, 8]",
       288},
      {{9, 9, 4},
       Conv2D(8, {3, 3}, {.dilation_rate = {2, 2}, .groups = 4}),
       "[B, 5, 5, 8]",
       80},
      {{9, 9, 4},
       DepthwiseConv2D({3, 3}, {.padding = "same"}, 2),
       "[B, 9, 9, 8]",
       80},
      {{4, 5, 6},
       Conv2DTranspose(3, {3, 3}, {.strides = {2, 2}}),
       "[B, 9, 11, 3]",
       165},
      {{4, 5, 6},
       Conv2DTranspose(3, {3, 3}, {.strides = {2, 2}, .padding = "same"}),
       "[B, 8, 10, 3]",
       165},
      {{4, 5, 6},
       Conv2DTranspose(3, {2, 2}, {.strides = {2, 2}, .padding = 0}),
       "[B, 8, 10, 3]",
       75},
      {{4, 5, 6},
       Conv2DTranspose(3, {1, 1}, {.strides = {3, 3}}),
       "[B, 12, 15, 3]",
       21},
      {{7, 8, 2}, MaxPooling2D(), "[B, 3, 4, 2]", 0},
      {{7, 8, 2},
       MaxPooling2D({.pool_size = {3, 3}, .strides = {2, 2}, .padding = 1}),
       "[B, 4, 4, 2]",
       0},
      {{7, 8, 2}, AveragePooling2D({.padding = "same"}), "[B, 4, 4, 2]", 0},
      {{7, 8, 2}, GlobalMaxPooling2D(), "[B, 2]", 0},
      {{7, 8, 2}, GlobalAveragePooling2D(), "[B, 2]", 0},
      {{7, 8, 2}, ZeroPadding2D(), "[B, 9, 10, 2]", 0},
      {{7, 8, 2}, ZeroPadding2D({0, 1, 2, 3}), "[B, 8, 13, 2]", 0},
      {{7, 8, 2}, UpSampling2D({2, 3}), "[B, 14, 24, 2]", 0},
      {{7, 8, 2}, UpSampling2D({2, 2}, "bilinear"), "[B, 14, 16, 2]", 0},
      {{7, 8, 2}, Reshape({4, -1}), "[B, 4, 28]", 0},
      {{7, 8, 2}, Permute({3, 1, 2}), "[B, 2, 7, 8]", 0},
      {{7, 8, 6}, Slice(2, 5), "[B, 7, 8, 3]", 0},
      {{7, 8}, PositionEmbedding(9), "[B, 7, 8]", 72},
      {{7, 8},
       MultiHeadAttention(4, 3),
       "[B, 7, 8]",
       3 * (8 * 12 + 12) + 12 * 8 + 8},
      {{7, 8},
       MultiHeadAttention(4, 3, {.num_key_value_heads = 2}),
       "[B, 7, 8]",
       8 * 12 + 12 + 2 * (8 * 6 + 6) + 12 * 8 + 8},
      {{7, 8}, LSTM(5), "[B, 5]", 4 * (8 + 5 + 1) * 5},
      {{7, 8}, LSTM(5, true), "[B, 7, 5]", 4 * (8 + 5 + 1) * 5},
      {{7, 8}, GRU(5), "[B, 5]", 3 * (8 + 5 + 2) * 5},
      {{7, 8}, GRU(5, true), "[B, 7, 5]", 3 * (8 + 5 + 2) * 5},
  };
  for (const Case& one : cases) {
    const Made made = build(one.input, {one.layer});
    EXPECT_EQ(made.error, "") << one.layer.type;
    EXPECT_EQ(made.shape, one.shape) << one.layer.type;
    EXPECT_EQ(made.parameters, one.parameters) << one.layer.type;
  }
  for (const Layer& layer :
       {Add(), Multiply(), Average(), Maximum(), Minimum()}) {
    EXPECT_EQ(join({3, 4}, layer, 3).shape, "[B, 3, 4]") << layer.type;
  }
  EXPECT_EQ(join({3, 4}, Subtract(), 2).shape, "[B, 3, 4]");
  EXPECT_EQ(join({3, 4}, Concatenate(), 3).shape, "[B, 3, 12]");
  EXPECT_EQ(join({3, 4}, Concatenate(1), 2).shape, "[B, 6, 4]");
  EXPECT_EQ(join({4}, Dot(), 2).shape, "[B, 1]");
  EXPECT_EQ(join({3, 4}, Dot(), 2).shape, "[B, 3, 3]");
  EXPECT_EQ(join({3, 4}, Dot({1, 1}), 2).shape, "[B, 4, 4]");
}

TEST(Layers, EveryTypeIsRegisteredOnce) {
  std::set<std::string_view> types;
  for (const LayerDef* def : layer_defs()) {
    EXPECT_TRUE(types.insert(def->type).second) << def->type;
    EXPECT_NE(def->build, nullptr) << def->type;
    std::set<std::string_view> keys;
    for (const LayerKey& key : def->keys) {
      EXPECT_TRUE(keys.insert(key.key).second) << def->type << " " << key.key;
    }
  }
}

TEST(Layers, AreAllDescribed) {
  std::ifstream file(PLIMSOLL_LAYERS_PAGE);
  std::stringstream page;
  page << file.rdbuf();
  const auto expect_named = [&](std::string_view word) {
    EXPECT_NE(page.str().find("`" + std::string(word) + "`"), std::string::npos)
        << word;
  };
  for (const LayerDef* def : layer_defs()) {
    expect_named(def->type);
    for (const LayerKey& key : def->keys) expect_named(key.key);
  }
}

TEST(Layers, RefuseWhatDoesNotFit) {
  const auto error = [](std::vector<std::int64_t> input, const Layer& layer) {
    return build(std::move(input), {layer}).error;
  };
  EXPECT_EQ(error({9, 9}, Conv2D(8, {3, 3})),
            "conv2d_1: conv2d takes images [B, height, width, channels], not "
            "f32[B, 9, 9]");
  EXPECT_EQ(error({9, 9, 4}, Conv2D(8, {3, 3}, {.groups = 3})),
            "conv2d_1: conv2d needs groups that divide both the filters and "
            "the input's channels, not 8 filters in 3 groups over [B, 9, 9, "
            "4]");
  EXPECT_NE(error({2, 2, 4}, Conv2D(8, {3, 3})), "");
  EXPECT_EQ(error({9, 9, 4}, Conv2D(8, {3, 3}, {.padding = "full"})),
            "conv2d_1: padding: must be \"valid\", \"same\", a number, "
            "[height, width] or [top, bottom, left, right], not \"full\"");
  EXPECT_EQ(error({4, 6}, Reshape({5, -1})),
            "reshape_1: target_shape: [5, -1] does not hold the 24 elements of "
            "an example of [B, 4, 6]");
  EXPECT_EQ(error({4, 6}, Reshape({-1, 2, -1})),
            "reshape_1: target_shape: [-1, 2, -1]: one extent may be -1, to "
            "hold the rest");
  EXPECT_EQ(error({4, 6}, Permute({1, 1})),
            "permute_1: dims: must hold each of 1 to 2 once for an input [B, "
            "4, 6], not [1, 1]");
  EXPECT_EQ(error({4}, Slice(2, 5)),
            "slice_1: slice takes the columns begin to end of the last axis, 0 "
            "<= begin < end <= 4, of an input [B, 4], not 2 to 5");
  EXPECT_EQ(error({4, 6}, PositionEmbedding(3)),
            "position_embedding_1: position_embedding takes [B, S, D] with S "
            "up to its sequence_length of 3, not f32[B, 4, 6]");
  EXPECT_EQ(error({4}, LSTM(3)),
            "lstm_1: lstm takes sequences [B, steps, features], not f32[B, 4]");
  EXPECT_EQ(error({4}, Add()), "add_1: add takes at least 2 inputs, not 1");
  Layer two = Flatten();
  two.inputs = {kModelInput, kModelInput};
  EXPECT_EQ(error({4}, two), "flatten_1: flatten takes 1 input, not 2");
}

// A job file's values are checked where they are read; these come from C++.
TEST(Layers, RefuseValuesThatTheirKeysMayNotHave) {
  const auto error = [](std::vector<std::int64_t> input, const Layer& layer) {
    return build(std::move(input), {layer}).error;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double rate : {1.0, -0.1, nan}) {
    EXPECT_EQ(error({4}, Dropout(rate)),
              fmt::format("dropout_1: rate: must be a number of at least 0 and "
                          "below 1, not {}",
                          rate));
  }
  EXPECT_EQ(error({4}, BatchNormalization(2)),
            "batch_normalization_1: momentum: must be a number of at least 0 "
            "and below 1, not 2");
  EXPECT_EQ(error({4}, Dense(0)),
            "dense_1: units: must be an integer from 1 to 2147483647, not 0");
  EXPECT_EQ(error({9, 9, 4}, Conv2D(8, {3, 3}, {.strides = {1, 0}})),
            "conv2d_1: strides: must be of integers from 1 to 16777216, not 0");
  EXPECT_EQ(error({9, 9, 4}, ZeroPadding2D(-1)),
            "zero_padding2d_1: padding: must be of integers from 0 to "
            "16777216, not -1");
  EXPECT_EQ(error({9, 9, 4}, MaxPooling2D({.strides = {0, 2}})),
            "max_pooling2d_1: strides: must be of integers from 1 to 16777216, "
            "not 0");
  EXPECT_EQ(error({9, 9, 4}, MaxPooling2D()), "");
  EXPECT_EQ(error({9, 9, 4}, UpSampling2D({2, 2}, "cubic")),
            "up_sampling2d_1: unknown interpolation `cubic`: known are "
            "nearest, bilinear");
  Layer dense = Dense(3);
  dense.kernel_initializer = "glorot";
  EXPECT_EQ(error({4}, dense).substr(0, 60),
            "dense_1: unknown initializer `glorot`: known are glorot_unif");
  dense = Dense(3, leaky_relu);
  dense.negative_slope = nan;
  EXPECT_EQ(error({4}, dense),
            "dense_1: negative_slope: must be a number of at least 0, not nan");
}

// Their sizes must not be multiplied out: the products would wrap around.
TEST(Layers, RefuseWhatNoMemoryHolds) {
  const auto error = [](std::vector<std::int64_t> input, const Layer& layer) {
    return build(std::move(input), {layer}).error;
  };
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(
      error({4, 4, 3}, Conv2D(kMost, {1 << 24, 1 << 24}, {.padding = "same"})),
      "conv2d_1: its kernel [2147483647, 16777216, 16777216, 3] has more "
      "than 2^44 elements");
  EXPECT_EQ(error({4, 4, 1 << 24}, DepthwiseConv2D({3, 3}, {}, kMost)),
            "depthwise_conv2d_1: its kernel [36028797002186752, 3, 3, 1] has "
            "more than 2^44 elements");
  EXPECT_EQ(error({4, 4, 1 << 25}, Conv2D(1, {1, 1})),
            "conv2d_1: conv2d takes images [B, height, width, channels] of at "
            "most 16777216 each, not f32[B, 4, 4, 33554432]");
  EXPECT_EQ(error({5, 3}, MultiHeadAttention(kMost, kMost)),
            "multi_head_attention_1: multi_head_attention_1/query/kernel [3, "
            "4611686014132420609] has more than 2^44 elements");
  EXPECT_EQ(error({5, 3}, LSTM(kMost)),
            "lstm_1: lstm_1/recurrent_kernel [2147483647, 8589934588] has more "
            "than 2^44 elements");
}

TEST(Layers, AreWiredByName) {
  ModelSpec model;
  model.input = {4};
  Layer join = Add();
  join.inputs = {"a", "b"};
  Layer second = Dense(3).named("b");
  second.inputs = {kModelInput};
  for (const Layer& layer : {Dense(3).named("a"), second, join}) {
    model.layers.push_back(spec_of(layer));
  }
  EXPECT_EQ(build(model).error, "");
  EXPECT_EQ(build(model).parameters, 2 * 15);

  ModelSpec bad = model;
  bad.layers[1] = spec_of(Dense(2).named("b"));
  bad.layers[1].inputs = {kModelInput};
  bad.layers[2].where = "job.toml:6: model.layers[2]";
  EXPECT_EQ(build(bad).error,
            "job.toml:6: model.layers[2] (add_1): add needs inputs of one "
            "shape, not [B, 3] and [B, 2]");
  bad = model;
  bad.layers[2].inputs = {"a", "c"};
  EXPECT_EQ(build(bad).error,
            "add_1: inputs: there is no layer `c` above it (`input` is the "
            "model's input)");
  bad = model;
  bad.layers[2].inputs = {"b", "b"};
  EXPECT_EQ(build(bad).error,
            "a: no layer reads what it gives, and only the last layer's value "
            "is the model's output");
  bad = model;
  bad.layers[1].name = "a";
  EXPECT_EQ(build(bad).error, "a: `a` names another layer too");
  bad = model;
  bad.layers[0] = spec_of(MultiHeadAttention(1, 3).named("a"));
  bad.layers[1] = spec_of(Dense(3).named("a/query"));
  bad.layers[2].inputs = {"a", "a/query"};
  bad.input = {4, 3};
  EXPECT_EQ(build(bad).error,
            "a/query: its `a/query/kernel` is another layer's too: give one of "
            "the two another name");
  bad = model;
  bad.layers[1].name = kModelInput;
  EXPECT_EQ(build(bad).error,
            "input: `input` is the model's input: give the layer another name");
}

TEST(Layers, IndicesReachEmbeddingsByWayOfLayersThatMoveThem) {
  const Made towers = build(
      {4}, {Slice(1, 3), Reshape({2, 1}), Permute({2, 1}), Embedding(10, 5)});
  EXPECT_EQ(towers.error, "");
  EXPECT_EQ(towers.shape, "[B, 1, 2, 5]");
  EXPECT_EQ(build({4}, {Dense(3), Embedding(10, 5)}).error.substr(0, 47),
            "embedding_1: embedding takes class indices: it ");
  ModelSpec both;
  both.input = {4};
  both.layers = {spec_of(Embedding(10, 5)), spec_of(Dense(3)), spec_of(Add())};
  both.layers[1].inputs = {kModelInput};
  both.layers[2].inputs = {"embedding_1", "dense_1"};
  EXPECT_EQ(build(both).error,
            "dense_1: dense cannot work on class indices: put an embedding "
            "before it");
  both.layers[1] = spec_of(Dropout(0.5).named("mixed"));
  both.layers[1].inputs = {kModelInput};
  both.layers[2].inputs = {"embedding_1", "mixed"};
  EXPECT_EQ(build(both).error,
            "mixed: dropout cannot work on class indices: put an embedding "
            "before it");
}

TEST(Layers, ATiedLayerHasNoWeightsOfItsOwn) {
  const Layer words = Embedding(10, 5).named("words");
  const Made made = build({4}, {words, TiedDense(10, "words")});
  EXPECT_EQ(made.error, "");
  EXPECT_EQ(made.shape, "[B, 4, 10]");
  EXPECT_EQ(made.parameters, 50);
  EXPECT_EQ(build({4}, {words, TiedDense(9, "words")}).error,
            "dense_1: dense needs [9, 5] to make 9 units of an input [B, 4, "
            "5], but the table of `words` is [10, 5]");
  EXPECT_EQ(build({4}, {words, TiedDense(10, "word")}).error,
            "dense_1: shared_with: there is no embedding named `word` above "
            "it");
}

TEST(Layers, AttentionTakesValuesKeysAndAMask) {
  ModelSpec model;
  model.input = {6, 8};
  Layer cross = MultiHeadAttention(2, 4);
  cross.inputs = {"queries", kModelInput};
  model.layers = {spec_of(Dense(12).named("queries")), spec_of(cross)};
  EXPECT_EQ(build(model).shape, "[B, 6, 12]");
  Layer mask = Flatten().named("mask");
  mask.inputs = {kModelInput};
  model.layers = {spec_of(Dense(12).named("queries")),
                  spec_of(GlobalMaxPooling2D()), spec_of(cross)};
  model.layers[1] = spec_of(mask);
  model.layers[2].mask = "mask";
  EXPECT_EQ(build(model).error,
            "multi_head_attention_1: mask: must be [B, 6] or [B, 6, 6] for "
            "queries [B, 6, 12] and keys [B, 6, 8], not [B, 48]");
}

// What to_toml() writes is read as the same model.
TEST(Layers, TextsOfModelsAreReadBack) {
  ModelSpec model;
  model.input = {9, 9, 4};
  Layer conv = Conv2D(8, {3, 5},
                      {.strides = {2, 1},
                       .padding = {0, 1, 2, 3},
                       .dilation_rate = {1, 2},
                       .groups = 2,
                       .use_bias = false,
                       .activation = leaky_relu});
  conv.negative_slope = 0.1;
  conv.name = "a \"quoted\" \\ name";
  Layer norm = BatchNormalization(0.9, 1e-5);
  norm.unbiased = true;
  norm.device = "cpu";
  Layer skip = Concatenate(1);
  skip.inputs = {conv.name, "batch_normalization_1"};
  const Layer layers[] = {
      conv,         norm,
      skip,         MaxPooling2D({.pool_size = {2, 3}, .padding = 1}),
      Flatten(),    Reshape({-1, 4}),
      GRU(3, true), Dropout(0.25),
      Flatten(),    Dense(1)};
  for (const Layer& layer : layers) model.layers.push_back(spec_of(layer));
  const std::string text = to_toml(model);
  const auto job = parse_job(
      text +
          "[data]\nsource = { type = \"random\", examples = 9, features = "
          "[9, 9, 4], labels = { type = \"binary\" } }\n[train]\nloss = "
          "\"binary_crossentropy\"\n",
      "job.toml", {});
  ASSERT_TRUE(job) << job.error().message << "\n" << text;
  EXPECT_EQ(to_toml(job->model), text);
  EXPECT_EQ(build(job->model).parameters, build(model).parameters);
  const Layer& read = job->model.layers[0];
  EXPECT_EQ(read.padding, conv.padding);
  EXPECT_EQ(read.strides, conv.strides);
  EXPECT_EQ(read.dilation_rate, conv.dilation_rate);
  EXPECT_EQ(read.negative_slope, 0.1);
  EXPECT_EQ(job->model.layers[3].padding, Padding(1));
  EXPECT_TRUE(job->model.layers[1].unbiased);
}

std::string job_error(const std::string& layer) {
  const auto job = parse_job(
      "[model]\ninput = [9, 9, 4]\nlayers = [\n  " + layer +
          ",\n]\n[data]\nsource = { type = \"npy\", features = \"x\", labels = "
          "\"y\" }\n[train]\nloss = \"mean_squared_error\"\n",
      "job.toml", {});
  return job ? "" : job.error().message;
}

TEST(Layers, MistakesInJobFilesAreNamed) {
  EXPECT_EQ(job_error("{ type = \"conv2d\", filters = 3 }"),
            "job.toml:4: model.layers[0].kernel_size: missing: a conv2d layer "
            "needs `kernel_size`, as in 3 or [3, 5]");
  EXPECT_EQ(job_error("{ type = \"conv2d\", filters = 3, kernel_size = [3, 0] "
                      "}"),
            "job.toml:4: model.layers[0].kernel_size: must be of integers from "
            "1 to 16777216, not 0");
  EXPECT_EQ(job_error("{ type = \"conv2d\", filters = 3, kernel_size = \"3\" "
                      "}"),
            "job.toml:4: model.layers[0].kernel_size: must be an integer or a "
            "pair of them, as in [3, 5], not a string");
  EXPECT_EQ(job_error("{ type = \"max_pooling2d\", padding = [1, 2, 3] }"),
            "job.toml:4: model.layers[0].padding: must be of 1, 2 or 4 "
            "integers");
  EXPECT_EQ(job_error("{ type = \"max_pooling2d\", padding = \"sme\" }"),
            "job.toml:4: model.layers[0].padding: unknown padding `sme`; did "
            "you mean `same`?");
  EXPECT_EQ(job_error("{ type = \"flatten\", inputs = 3 }"),
            "job.toml:4: model.layers[0].inputs: must be a name or an array of "
            "names, not an integer");
  EXPECT_EQ(job_error("{ type = \"flatten\", inputs = [\"input\"] }"), "");
  EXPECT_EQ(job_error("{ type = \"flatten\", inputs = \"x\" }"),
            "job.toml:4: model.layers[0] (flatten_1): inputs: there is no "
            "layer `x` above it (`input` is the model's input)");
  EXPECT_EQ(job_error("{ type = \"lstm\", units = 3 }"),
            "job.toml:4: model.layers[0] (lstm_1): lstm takes sequences [B, "
            "steps, features], not f32[B, 9, 9, 4]");
}

}  // namespace
}  // namespace plimsoll::train
