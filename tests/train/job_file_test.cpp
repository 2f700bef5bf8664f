#include "train/job_file/job_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <vector>

namespace plimsoll::train {
namespace {

// One key a line, so that each mistake has a line of its own.
const char kGood[] = R"([model]
input = [4, 2]
layers = [
  { type = "flatten" },
  { type = "dense", units = 3, activation = "relu" },
  { type = "dropout", rate = 0.5 },
  { type = "dense", units = 1 },
  { type = "activation", activation = "sigmoid" },
]
[data]
residency = "stream"
pipeline = [
  { stage = "shuffle" },
  { stage = "batch" },
  { stage = "prefetch", batches = 3 },
]
[data.source]
type = "random"
examples = 100
features = [4, 2]
labels = { type = "binary" }
[train]
batch = 8
epochs = 2
loss = "binary_crossentropy"
metrics = ["accuracy"]
precision = "f64"
seed = 7
[train.optimizer]
type = "adamw"
learning_rate = 0.01
weight_decay = 0.1
[memory]
host = "64MiB"
)";

std::string with(std::string text, const std::string& from,
                 const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text,
                     std::vector<std::string> overrides = {}) {
  const auto job = parse_job(text, "job.toml", overrides);
  if (job) return "(no error)";
  EXPECT_EQ(job.error().code, ErrorCode::bad_input);
  return job.error().message;
}

TEST(JobFile, ReadsEveryKey) {
  const auto job = parse_job(kGood, "some/job.toml", {});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->model.input, (std::vector<std::int64_t>{4, 2}));
  ASSERT_EQ(job->model.layers.size(), 5u);
  EXPECT_EQ(job->model.layers[1].units, 3);
  EXPECT_EQ(job->model.layers[1].activation, "relu");
  EXPECT_EQ(job->model.layers[1].where, "some/job.toml:5: model.layers[1]");
  EXPECT_EQ(job->model.layers[2].rate, 0.5);
  EXPECT_EQ(job->model.layers[4].activation, "sigmoid");
  EXPECT_EQ(job->data.source.integer("examples", 0), 100);
  EXPECT_EQ(job->data.source.where, "some/job.toml:17: data.source");
  EXPECT_EQ(job->data.source.text("labels", ""), "binary");
  ASSERT_EQ(job->data.pipeline.size(), 3u);
  EXPECT_EQ(job->data.pipeline[2].name, "prefetch");
  EXPECT_EQ(job->data.pipeline[2].integer("batches", 1), 3);
  EXPECT_EQ(job->train.batch, 8);
  EXPECT_EQ(job->train.epochs, 2);
  EXPECT_EQ(job->train.seed, 7);
  EXPECT_EQ(job->train.precision, DType::f64);
  EXPECT_EQ(job->train.optimizer.type, "adamw");
  EXPECT_EQ(job->train.optimizer.learning_rate, 0.01);
  EXPECT_EQ(job->train.optimizer.weight_decay, 0.1);
  EXPECT_EQ(job->train.metrics, std::vector<std::string>{"accuracy"});
  EXPECT_EQ(job->memory.host, "64MiB");
  EXPECT_FALSE(job->memory.device);
  EXPECT_TRUE(job->memory.pinned);
  EXPECT_TRUE(job->memory.growth);
  EXPECT_FALSE(job->train.tf32);
}

TEST(JobFile, ReadsAnEmbedding) {
  const std::string text =
      with(kGood, "{ type = \"flatten\" },",
           "{ type = \"embedding\", input_dim = 50, output_dim = 6, "
           "embeddings_initializer = \"zeros\" }, { type = \"flatten\" },");
  const auto job = parse_job(text, "job.toml", {});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->model.layers[0].input_dim, 50);
  EXPECT_EQ(job->model.layers[0].output_dim, 6);
  EXPECT_EQ(job->model.layers[0].embeddings_initializer, "zeros");
  EXPECT_EQ(
      error_of(with(text, "input_dim = 50, ", "")),
      "job.toml:4: model.layers[0].input_dim: missing: an embedding layer "
      "needs `input_dim`, the number of classes");
}

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
       "layer; it takes `type`, `name`, `rate` and `device`"},
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
      {"batches = 3", "batches = -1",
       "job.toml:15: data.pipeline[2].batches: must be an integer from 0 to "
       "1024, not -1"},
      {"input = [4, 2]", "input = []",
       "job.toml:2: model.input: must hold 1 to 8 extents, as in [28, 28]"},
      {"input = [4, 2]", "input = [4, 0]",
       "job.toml:2: model.input[1]: must be an integer of at least 1, not 0"},
      {"input = [4, 2]", "input = [2147483647, 2147483647]",
       "job.toml:2: model.input: has more than 2^40 elements"},
      // Unknown names.
      {"\"relu\"", "\"rleu\"",
       "job.toml:5: model.layers[1].activation: unknown activation `rleu`; "
       "known: `linear`, `relu`, `leaky_relu`, `sigmoid`, `tanh`, `gelu`, "
       "`gelu_tanh`, `silu`, `swish`, `elu`, `softplus` and `softmax`"},
      {"\"sigmoid\"", "\"sigmoyd\"",
       "job.toml:8: model.layers[4].activation: unknown activation "
       "`sigmoyd`; did you mean `sigmoid`?"},
      {"loss = \"binary_crossentropy\"", "loss = \"binary_cross_entropy\"",
       "job.toml:25: train.loss: unknown loss `binary_cross_entropy`; did you "
       "mean `binary_crossentropy`?"},
      {"\"adamw\"", "\"lion\"",
       "job.toml:30: train.optimizer.type: unknown optimizer `lion`; known: "
       "`sgd`, `adam` and `adamw`"},
      {"\"accuracy\"", "\"acuracy\"",
       "job.toml:26: train.metrics[0]: unknown metric `acuracy`; did you mean "
       "`accuracy`?"},
      {"stage = \"shuffle\"", "stage = \"shufle\"",
       "job.toml:13: data.pipeline[0].stage: unknown stage `shufle`; did you "
       "mean `shuffle`?"},
      {"type = \"flatten\"", "type = \"conv\"",
       "job.toml:4: model.layers[0].type: unknown layer `conv`; known: "
       "`dense`, `activation`, `dropout`, `flatten`, `embedding`, "
       "`layer_normalization`, `rms_normalization`, `group_normalization` and "
       "`batch_normalization`"},
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
       "`layer_normalization`, `rms_normalization`, `group_normalization` or "
       "`batch_normalization`"},
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

TEST(JobFile, DefaultsAreThoseOfKeras) {
  const std::string text = R"(
model = { input = [2], layers = [{ type = "dense", units = 1 }] }
train = { loss = "mean_squared_error", optimizer = { type = "sgd" } }
[data]
source = { type = "npy", features = "x.npy", labels = "/abs/y.npy" }
validation = { type = "npy", features = "v/x.npy", labels = "v/y.npy" }
)";
  const auto job = parse_job(text, "jobs/a.toml", {});
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->train.batch, 32);
  EXPECT_EQ(job->train.epochs, 1);
  EXPECT_EQ(job->train.optimizer.learning_rate, 0.01);
  EXPECT_EQ(job->model.layers[0].kernel_initializer, "glorot_uniform");
  EXPECT_EQ(job->data.pipeline.size(), 3u);
  EXPECT_EQ(job->data.source.text("features", ""), "jobs/x.npy");
  EXPECT_EQ(job->data.source.text("labels", ""), "/abs/y.npy");
  ASSERT_TRUE(job->data.validation);
  EXPECT_EQ(job->data.validation->text("features", ""), "jobs/v/x.npy");
}

// [data] with this source and pipeline, in a job that is otherwise right.
std::string with_data(const std::string& source, const std::string& pipeline) {
  return "model = { input = [2], layers = [{ type = \"dense\", units = 1 }] }\n"
         "train = { loss = \"mean_squared_error\" }\n[data]\nsource = " +
         source + "\npipeline = " + pipeline + "\n";
}

TEST(JobFile, SourcesAreJoined) {
  const auto job =
      parse_job(with_data(R"({ type = "interleave", cycle = 2, sources = [
        { type = "npy", features = "x.npy", labels = "y.npy" },
        { type = "zip", sources = [
          { type = "lines", files = "a-*.txt" },
          { type = "range", end = 5, stages = [{ stage = "take", count = 3 }] }
          ] }] })",
                          R"([{ stage = "padded_batch", shape = [2] }])"),
                "jobs/a.toml", {});
  ASSERT_TRUE(job) << job.error().message;
  const data::Recipe& source = job->data.source;
  EXPECT_EQ(source.integer("cycle", 0), 2);
  ASSERT_EQ(source.inputs.size(), 2u);
  EXPECT_EQ(source.inputs[0].text("features", ""), "jobs/x.npy");
  ASSERT_EQ(source.inputs[1].inputs.size(), 2u);
  EXPECT_EQ(source.inputs[1].inputs[0].texts("files"),
            std::vector<std::string>{"jobs/a-*.txt"});
  ASSERT_EQ(source.inputs[1].inputs[1].stages.size(), 1u);
  EXPECT_EQ(source.inputs[1].inputs[1].stages[0].name, "take");
}

TEST(JobFile, OptionsOfSourcesAndStagesAreChecked) {
  const std::string npy =
      R"({ type = "npy", features = "x.npy", labels = "y.npy" })";
  const std::string batch = R"([{ stage = "batch" }])";
  const std::tuple<std::string, std::string, std::string> cases[] = {
      {R"({ type = "npy", features = 3, labels = "y.npy" })", batch,
       "job.toml:4: data.source.features: must be a string, not an integer"},
      {R"({ type = "npy", features = "", labels = "y.npy" })", batch,
       "job.toml:4: data.source.features: must not be empty"},
      {R"({ type = "npy", features = "x", labels = "y", page_cache = "kep" })",
       batch,
       "job.toml:4: data.source.page_cache: there is no `kep`; there are "
       "`auto`, `keep`, `drop`"},
      {R"({ type = "csv", files = [], label = "y" })", batch,
       "job.toml:4: data.source.files: must not be empty"},
      {R"({ type = "csv", files = [1, "a"], label = "y" })", batch,
       "job.toml:4: data.source.files: cannot be an array"},
      {R"({ type = "csv", files = "a", label = "y", most_bytes = "4" })", batch,
       "job.toml:4: data.source.most_bytes: size \"4\" has no unit: write a "
       "number and a unit (B, KB, MB, GB, TB, KiB, MiB, GiB, TiB) as in "
       "\"128MiB\", or a percentage of the memory as in \"40%\""},
      {R"({ type = "zip" })", batch,
       "job.toml:4: data.source.sources: missing: a zip source needs "
       "`sources`, an array of two or more"},
      {R"({ type = "zip", sources = [3, 4] })", batch,
       "job.toml:4: data.source.sources[0]: must be a table such as { type = "
       "\"npy\", ... }, not an integer"},
      {"{ type = \"zip\", sources = [" + npy + "] }", batch,
       "job.toml:4: data.source.sources: must hold two or more, not 1"},
      {npy, R"([{ stage = "take", count = 0 }, { stage = "batch" }])",
       "job.toml:5: data.pipeline[0].count: must be an integer from 1 to "
       "1000000000000000000, not 0"},
      {npy, R"([{ stage = "take", count = "all" }, { stage = "batch" }])",
       "job.toml:5: data.pipeline[0].count: must be an integer from 1 to "
       "1000000000000000000, not a string"},
      {npy,
       R"([{ stage = "random_flip", probability = 1.5 }, { stage = "batch" }])",
       "job.toml:5: data.pipeline[0].probability: must be a number from 0 to "
       "1, not 1.5"},
      {npy, R"([{ stage = "batch" }, { stage = "padded_batch", shape = [2] }])",
       "job.toml:5: data.pipeline[1]: a second `padded_batch`"},
      {npy, R"([{ stage = "take", count = 1 }])",
       "job.toml:5: data.pipeline: has no { stage = \"batch\" }"},
  };
  for (const auto& [source, pipeline, error] : cases) {
    EXPECT_EQ(error_of(with_data(source, pipeline)), error);
  }
}

TEST(JobFile, OverridesAreAppliedBeforeReading) {
  const std::vector<std::string> overrides = {
      "train.batch=64",
      "model.layers.1.units=9",
      "memory.host=2GiB",
      "train.loss=mean_squared_error",
      "train.optimizer={ type = \"sgd\", momentum = 0.9 }",
      "train.batch=65",
      "data.validation.type=npy",
      "data.validation.features=x.npy",
      "data.validation.labels=\"y.npy\"",
  };
  const auto job = parse_job(kGood, "job.toml", overrides);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->train.batch, 65);
  EXPECT_EQ(job->model.layers[1].units, 9);
  EXPECT_EQ(job->memory.host, "2GiB");
  EXPECT_EQ(job->train.loss, "mean_squared_error");
  EXPECT_EQ(job->train.optimizer.type, "sgd");
  EXPECT_EQ(job->train.optimizer.momentum, 0.9);
  EXPECT_EQ(job->data.validation->text("labels", ""), "y.npy");
}

TEST(JobFile, BadOverridesAreQuoted) {
  const std::pair<const char*, const char*> cases[] = {
      {"train.bach=1",
       "override `train.bach=1`: train.bach: unknown key `bach` in [train]; "
       "did you mean `batch`?"},
      {"train.batch=many",
       "override `train.batch=many`: train.batch: must be an integer from 1 "
       "to 2147483647, not a string"},
      {"model.layers.1.units=-1",
       "override `model.layers.1.units=-1`: model.layers[1].units: must be an "
       "integer from 1 to 2147483647, not -1"},
      {"model.layers.5.units=1",
       "override `model.layers.5.units=1`: index 5 is past the end: there are "
       "5 items"},
      {"model.layers.x.units=1",
       "override `model.layers.x.units=1`: `x` is no index, and an array "
       "needs one"},
      {"train.batch.size=1",
       "override `train.batch.size=1`: `size` lies inside an integer, which "
       "has no parts"},
      {"train.batch", "override `train.batch`: write it as dotted.key=value"},
      {"train..batch=1",
       "override `train..batch=1`: a part of the key is empty"},
      {"train.batch=", "override `train.batch=`: no value after the `=`"},
      {"train.metrics=[\"accuracy\"",
       "override `train.metrics=[\"accuracy\"`: the value is neither TOML nor "
       "a bare word"},
      {"train.batch=1\nb=2",
       "override `train.batch=1\nb=2`: the value is neither TOML nor a bare "
       "word"},
      {"nowhere.at.all=1",
       "override `nowhere.at.all=1`: nowhere: unknown key `nowhere` in a job; "
       "it takes `model`, `data`, `train` and `memory`"},
  };
  for (const auto& [text, error] : cases) {
    EXPECT_EQ(error_of(kGood, {text}), error);
  }
}

TEST(JobFile, ReadsFromDiskAndRefusesWhatIsNoFile) {
  const std::string path = testing::TempDir() + "plimsoll_job_file_test.toml";
  std::ofstream(path) << kGood;
  EXPECT_TRUE(read_job_file(path, {}).ok());
  const auto missing = read_job_file(path + ".not", {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message,
            path + ".not: cannot read the job file: no such file");
  const auto folder = read_job_file(testing::TempDir(), {});
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().message.find("it is a folder"), std::string::npos);
  std::ofstream(path) << std::string((1 << 20) + 1, '#');
  const auto large = read_job_file(path, {});
  ASSERT_FALSE(large);
  EXPECT_NE(large.error().message.find("larger than 1 MiB"), std::string::npos);
}

TEST(JobFile, DeepNestingIsAnErrorNotACrash) {
  const std::string deep = "a = " + std::string(100000, '[');
  EXPECT_NE(error_of(deep).find("not valid TOML"), std::string::npos);
}

TEST(JobFile, ExamplesAreValid) {
  for (const char* name : {"mlp1000.toml", "linear100.toml"}) {
    const auto job =
        read_job_file(std::string(PLIMSOLL_EXAMPLES) + "/jobs/" + name, {});
    ASSERT_TRUE(job) << job.error().message;
    EXPECT_EQ(job->data.source.integer("examples", 0), 1000000);
    EXPECT_EQ(job->train.batch, 32);
  }
}

}  // namespace
}  // namespace plimsoll::train
