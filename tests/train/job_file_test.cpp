#include "train/job_file/job_file.h"

#include <fstream>

#include "train/job_file_text.h"

namespace plimsoll::train::testing {
namespace {

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
      with(with(kGood, "examples = 100", "examples = 100\nclasses = 50"),
           "{ type = \"flatten\" },",
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

TEST(JobFile, AnLstmForgetsLittleAtFirst) {
  const auto forgets = [](const char* layer) {
    const std::string text = with(kGood, "{ type = \"flatten\" },", layer);
    const auto job = parse_job(text, "job.toml", {});
    EXPECT_TRUE(job) << job.error().message;
    return job && job->model.layers[0].unit_forget_bias;
  };
  EXPECT_TRUE(forgets("{ type = \"lstm\", units = 3 },"));
  EXPECT_FALSE(
      forgets("{ type = \"lstm\", units = 3, unit_forget_bias = false },"));
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

// As a remedy asks for, whether the file states its stages or not.
TEST(JobFile, OverridesReachStagesThatAreNotStated) {
  const std::string stages = R"(pipeline = [
  { stage = "shuffle" },
  { stage = "batch" },
  { stage = "prefetch", batches = 3 },
]
)";
  const auto job =
      parse_job(with(kGood, stages, ""), "job.toml",
                std::vector<std::string>{"data.pipeline.2.batches=0"});
  ASSERT_TRUE(job) << job.error().message;
  ASSERT_EQ(job->data.pipeline.size(), 3u);
  EXPECT_EQ(job->data.pipeline[2].name, "prefetch");
  EXPECT_EQ(job->data.pipeline[2].integer("batches", 1), 0);
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
  const std::string path = ::testing::TempDir() + "plimsoll_job_file_test.toml";
  std::ofstream(path) << kGood;
  EXPECT_TRUE(read_job_file(path, {}).ok());
  const auto missing = read_job_file(path + ".not", {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message,
            path + ".not: cannot read the job file: no such file");
  const auto folder = read_job_file(::testing::TempDir(), {});
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
}  // namespace plimsoll::train::testing
