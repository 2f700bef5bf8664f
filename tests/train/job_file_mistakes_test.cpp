// Each mistake in a job file is named with file, line and key.
#include "train/job_file_text.h"
#include "train/network.h"

namespace plimsoll::train::testing {
namespace {

struct BadLine {
  const char* from;
  const char* to;
  const char* error;
};

TEST(JobFile, NamesFileLineAndKeyOfEachMistake) {
  const BadLine cases[] = {
      // Unknown keys.
      {"seed = 7", "sed = 7",
       "job.toml:28: train.sed: unknown key `sed` in [train]; did you mean "
       "`seed`?"},
      {"learning_rate", "lerning_rate",
       "job.toml:31: train.optimizer.lerning_rate: unknown key "
       "`lerning_rate` in adamw; did you mean `learning_rate`?"},
      {"[memory]", "[memroy]",
       "job.toml:33: memroy: unknown key `memroy` in a job; did you mean "
       "`memory`?"},
      {"host = ", "zzz = ",
       "job.toml:34: memory.zzz: unknown key `zzz` in [memory]; it takes "
       "`host`, `device`, `pinned` and `growth`"},
      {"rate = 0.5", "rate = 0.5, units = 3",
       "job.toml:6: model.layers[2].units: unknown key `units` in a dropout "
       "layer; it takes `type`, `name`, `inputs`, `rate`, `device` and "
       "`precision`"},
      {"rate = 0.5", "rate = 0.5, device = \"gpu\"",
       "job.toml:6: model.layers[2].device: must be cpu or cuda:0, cuda:1, "
       "..."},
      {"examples = 100", "exampels = 100",
       "job.toml:19: data.source.exampels: unknown key `exampels` in a random "
       "source; did you mean `examples`?"},
      {"{ stage = \"batch\" }", "{ stage = \"batch\", size = 3 }",
       "job.toml:14: data.pipeline[1].size: unknown key `size` in a batch "
       "stage; it takes `stage`"},
      {"{ type = \"binary\" }", "{ type = \"binary\", count = 3 }",
       "job.toml:21: data.source.labels.count: unknown key `count` in binary "
       "labels; it takes `type`"},
      // Wrong types.
      {"batch = 8", "batch = \"8\"",
       "job.toml:23: train.batch: must be an integer from 1 to 2147483647, "
       "not a string"},
      {"batch = 8", "batch = 8.5",
       "job.toml:23: train.batch: must be an integer from 1 to 2147483647, "
       "not a number with a fraction"},
      {"seed = 7", "seed = 7\naccumulation_steps = 0",
       "job.toml:29: train.accumulation_steps: must be an integer from 1 to "
       "1000000, not 0"},
      {"input = [4, 2]", "input = 8",
       "job.toml:2: model.input: must be an array, not an integer"},
      {"input = [4, 2]", "input = [4, \"2\"]",
       "job.toml:2: model.input[1]: must be an integer of at least 1, not a "
       "string"},
      {"host = \"64MiB\"", "host = 64",
       "job.toml:34: memory.host: must be a string, not an integer"},
      {"rate = 0.5", "rate = true",
       "job.toml:6: model.layers[2].rate: must be a number of at least 0 and "
       "below 1, not a boolean"},
      {"metrics = [\"accuracy\"]", "metrics = \"accuracy\"",
       "job.toml:26: train.metrics: must be an array, not a string"},
      {"metrics = [\"accuracy\"]", "metrics = [\"accuracy\", \"accuracy\"]",
       "job.toml:26: train.metrics[1]: metric `accuracy` is there already"},
      {"metrics = [\"accuracy\"]",
       "metrics = [\"sparse_categorical_accuracy\"]",
       "job.toml:26: train.metrics: metric sparse_categorical_accuracy does "
       "not "
       "fit the labels that loss binary_crossentropy takes"},
      {"{ type = \"flatten\" }", "\"flatten\"",
       "job.toml:4: model.layers[0]: must be a table such as { type = "
       "\"dense\", units = 10 }, not a string"},
      {"loss = \"binary_crossentropy\"", "loss = 3",
       "job.toml:25: train.loss: must be the name of a loss, not an integer"},
      {"epochs = 2", "epochs = 2026-01-01",
       "job.toml:24: train.epochs: must be an integer from 1 to 2147483647, "
       "not a date or time"},
      {"{ stage = \"shuffle\" }", "3",
       "job.toml:13: data.pipeline[0]: must be a table such as { stage = "
       "\"shuffle\" }, not an integer"},
      {"labels = { type = \"binary\" }", "labels = \"binary\"",
       "job.toml:21: data.source.labels: must be a table, not a string"},
      // Out of range.
      {"units = 3", "units = -3",
       "job.toml:5: model.layers[1].units: must be an integer from 1 to "
       "2147483647, not -3"},
      {"units = 3", "units = 4000000000",
       "job.toml:5: model.layers[1].units: must be an integer from 1 to "
       "2147483647, not 4000000000"},
      {"rate = 0.5", "rate = 1.0",
       "job.toml:6: model.layers[2].rate: must be a number of at least 0 and "
       "below 1, not 1"},
      {"batch = 8", "batch = 0",
       "job.toml:23: train.batch: must be an integer from 1 to 2147483647, "
       "not 0"},
      {"seed = 7", "seed = -7",
       "job.toml:28: train.seed: must be an integer of at least 0, not -7"},
      {"learning_rate = 0.01", "learning_rate = 0",
       "job.toml:31: train.optimizer.learning_rate: must be a number above 0, "
       "not 0"},
      {"learning_rate = 0.01", "learning_rate = nan",
       "job.toml:31: train.optimizer.learning_rate: must be a number above 0, "
       "not nan"},
      {"weight_decay = 0.1", "clipnorm = 1\nclipvalue = 1",
       "job.toml:33: train.optimizer.clipvalue: only one of `clipnorm`, "
       "`clipvalue` and `global_clipnorm` can be set"},
      {"learning_rate = 0.01", "learning_rate = { type = \"cosin_decay\" }",
       "job.toml:31: train.optimizer.learning_rate.type: unknown schedule "
       "`cosin_decay`; did you mean `cosine_decay`?"},
      {"learning_rate = 0.01",
       "learning_rate = { type = \"cosine_decay\", initial_learning_rate = 0.1 "
       "}",
       "job.toml:31: train.optimizer.learning_rate.decay_steps: missing: "
       "cosine_decay needs a `decay_steps`: a number above 0"},
      {"learning_rate = 0.01",
       "learning_rate = { type = \"piecewise_constant\", boundaries = [3, 1], "
       "values = [1, 2, 3] }",
       "job.toml:31: train.optimizer.learning_rate: piecewise_constant: "
       "`boundaries` must be steps that rise"},
      {"batches = 3", "batches = -1",
       "job.toml:15: data.pipeline[2].batches: must be an integer from 0 to "
       "1024, not -1"},
      {"input = [4, 2]", "input = []",
       "job.toml:2: model.input: must hold 1 to 6 extents, as in [28, 28]"},
      {"input = [4, 2]", "input = [4, 0]",
       "job.toml:2: model.input[1]: must be an integer of at least 1, not 0"},
      {"input = [4, 2]", "input = [2147483647, 2147483647]",
       "job.toml:2: model.input: has more than 2^40 elements"},
      // Unknown names.
      {"\"relu\"", "\"rleu\"",
       "job.toml:5: model.layers[1].activation: unknown activation `rleu`; "
       "known: `linear`, `relu`, `relu6`, `leaky_relu`, `sigmoid`, `tanh`, "
       "`gelu`, `gelu_tanh`, `silu`, `swish`, `elu`, `softplus` and `softmax`"},
      {"\"sigmoid\"", "\"sigmoyd\"",
       "job.toml:8: model.layers[4].activation: unknown activation "
       "`sigmoyd`; did you mean `sigmoid`?"},
      {"loss = \"binary_crossentropy\"", "loss = \"binary_cross_entropy\"",
       "job.toml:25: train.loss: unknown loss `binary_cross_entropy`; did you "
       "mean `binary_crossentropy`?"},
      {"\"adamw\"", "\"lion\"",
       "job.toml:30: train.optimizer.type: unknown optimizer `lion`; known: "
       "`sgd`, `adam`, `adamw`, `rmsprop`, `adagrad`, `lamb` and `adafactor`"},
      {"\"accuracy\"", "\"acuracy\"",
       "job.toml:26: train.metrics[0]: unknown metric `acuracy`; did you mean "
       "`accuracy`?"},
      {"stage = \"shuffle\"", "stage = \"shufle\"",
       "job.toml:13: data.pipeline[0].stage: unknown stage `shufle`; did you "
       "mean `shuffle`?"},
      {"type = \"flatten\"", "type = \"conv\"",
       "job.toml:4: model.layers[0].type: unknown layer `conv`; known: "
       "`dense`, `activation`, `dropout`, `flatten`, `embedding`, "
       "`layer_normalization`, `rms_normalization`, `group_normalization`, "
       "`batch_normalization`, `conv2d`, "},
      {"precision = \"f64\"", "precision = \"float64\"",
       "job.toml:27: train.precision: unknown precision `float64`; known: "
       "`f32`, `f64`, `bf16` and `f16`"},
      {"residency = \"stream\"", "residency = \"ram\"",
       "job.toml:11: data.residency: unknown residency `ram`; known: `stream` "
       "and `memory`"},
      {"units = 3,", "units = 3, kernel_initializer = \"zeroes\",",
       "job.toml:5: model.layers[1].kernel_initializer: unknown initializer "
       "`zeroes`; did you mean `zeros`?"},
      {"type = \"random\"", "type = \"rndom\"",
       "job.toml:18: data.source.type: unknown source `rndom`; did you mean "
       "`random`?"},
      // Missing parts.
      {"units = 3, ", "",
       "job.toml:5: model.layers[1].units: missing: a dense layer needs "
       "`units`, the number of its outputs"},
      {"type = \"flatten\"", "name = \"flatten\"",
       "job.toml:4: model.layers[0].type: missing: a layer needs a `type`: "
       "`dense`, `activation`, `dropout`, `flatten`, `embedding`, "
       "`layer_normalization`, `rms_normalization`, `group_normalization`, "
       "`batch_normalization`, `conv2d`, "},
      {", rate = 0.5", "",
       "job.toml:6: model.layers[2].rate: missing: a dropout layer needs "
       "`rate`, the share of values set to zero"},
      {"loss = \"binary_crossentropy\"\n", "",
       "job.toml:22: train.loss: missing: [train] needs a `loss`: "
       "`binary_crossentropy`, `mean_squared_error`, `mean_absolute_error`, "
       "`categorical_crossentropy` or `sparse_categorical_crossentropy`"},
      {"examples = 100\n", "",
       "job.toml:17: data.source.examples: missing: a random source needs "
       "`examples`, how many there are"},
      {"  { stage = \"batch\" },\n", "",
       "job.toml:12: data.pipeline: has no { stage = \"batch\" }"},
      // Things that do not go together.
      {"{ stage = \"shuffle\" }", "{ stage = \"prefetch\" }",
       "job.toml:14: data.pipeline[1]: `batch` must come before `prefetch`"},
      {"{ stage = \"shuffle\" }", "{ stage = \"batch\" }",
       "job.toml:14: data.pipeline[1]: a second `batch`"},
      {"features = [4, 2]", "features = [5, 2]",
       "job.toml:20: data.source.features: [5, 2] does not fit model.input "
       "[4, 2]"},
      {"{ type = \"binary\" }", "{ type = \"uniform\", shape = [2] }",
       "job.toml:21: data.source.labels: labels of shape [2] do not fit the "
       "model's output [1]"},
      {"{ type = \"binary\" }", "{ type = \"classes\", count = 3 }",
       "job.toml:21: data.source.labels: class numbers do not fit the loss "
       "binary_crossentropy: use sparse_categorical_crossentropy"},
      {"units = 3,", "units = 3, negative_slope = 0.1,",
       "job.toml:5: model.layers[1].negative_slope: only leaky_relu has one"},
      {"host = \"64MiB\"", "host = \"64\"",
       "job.toml:34: memory.host: size \"64\" has no unit"},
      {"host = \"64MiB\"", "host = \"-1GiB\"",
       "job.toml:34: memory.host: size \"-1GiB\" is not above zero"},
      {"host = \"64MiB\"", "host = \"1XiB\"",
       "job.toml:34: memory.host: size \"1XiB\" has the unknown unit"},
      {"host = \"64MiB\"", "host = \"0%\"",
       "job.toml:34: memory.host: size \"0%\" is not above zero"},
      // Not TOML at all.
      {"seed = 7", "seed = ", "job.toml:28: not valid TOML"},
      {"seed = 7", "batch = 7", "job.toml:28: not valid TOML"},
  };
  for (const BadLine& bad : cases) {
    const std::string error = error_of(with(kGood, bad.from, bad.to));
    EXPECT_EQ(error.substr(0, std::string(bad.error).size()), bad.error);
  }
}

TEST(JobFile, NamesMissingSections) {
  EXPECT_EQ(error_of(""),
            "job.toml:1: model: missing: a job needs a section [model] with "
            "input and layers");
  EXPECT_EQ(error_of("[model]\ninput = [1]\nlayers = []\n"),
            "job.toml:1: data: missing: a job needs a section [data] with a "
            "source");
  EXPECT_EQ(error_of("model = 3\ndata = 3\ntrain = 3\n"),
            "job.toml:1: model: must be a table, not an integer");
  EXPECT_EQ(error_of("[model]\ninput = [1]\nlayers = []\n[data]\n[train]\n"),
            "job.toml:3: model.layers: has no layer");
}

TEST(JobFile, ClassesMustFitTheEmbedding) {
  const std::string text = R"([model]
input = [2]
layers = [
  { type = "embedding", input_dim = 9, output_dim = 3 },
  { type = "flatten" },
  { type = "dense", units = 1 },
]
[data.source]
type = "random"
examples = 100
features = [2]
classes = 10
labels = { type = "binary" }
[train]
loss = "mean_squared_error"
)";
  EXPECT_EQ(error_of(text),
            "job.toml:12: data.source.classes: 10 classes do not fit the 9 "
            "rows (input_dim) of an embedding");
  EXPECT_EQ(error_of(with(text, "classes = 10", "classes = 9")), "(no error)");
  EXPECT_EQ(error_of(with(text, "classes = 10\n", "")),
            "job.toml:8: data.source: an embedding reads its features as class "
            "indices: `classes = N` makes such, from 0 to N - 1");
}

TEST(JobFile, NamesOfLayersAreUnique) {
  const std::string text = R"([model]
input = [2]
layers = [
  { type = "dense", units = 1, name = "a" },
  { type = "dense", units = 1, name = "a" },
]
[data]
[train]
)";
  EXPECT_EQ(error_of(text),
            "job.toml:5: model.layers[1].name: `a` names another layer too");
}

// Keras's count goes past names that are taken.
TEST(JobFile, LayersWithoutANameGetOneThatIsFree) {
  ModelSpec model;
  model.layers.resize(4);
  for (LayerSpec& layer : model.layers) layer.type = "dense";
  model.layers[0].name = "dense_2";
  model.layers[3].name = "dense_4";
  EXPECT_EQ(
      layer_names(model),
      (std::vector<std::string>{"dense_2", "dense_3", "dense_5", "dense_4"}));
}

}  // namespace
}  // namespace plimsoll::train::testing
