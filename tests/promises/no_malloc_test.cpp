// Between its hooks the training loop calls no malloc: not in our code, nor in
// the C and C++ libraries on our behalf.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "allocation_count.h"
#include "io/example_builder.h"
#include "io/tar_writer.h"
#include "io/tfrecord_writer.h"
#include "train/calibration.h"
#include "train/fit.h"
#include "train/job_file/job_file.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;
namespace counting = plimsoll::testing;

// Counting starts after the first epoch's hooks and ends with the last one's:
// starts of epochs, evaluations and their accounts are in between.
Status count_calls(const JobSpec& job, bool plant_one) {
  PLIMSOLL_ASSIGN(DeviceProfile profile, cpu_profile(2, ""));
  Machine machine(std::move(profile));
  PLIMSOLL_ASSIGN(JobData data, open_data(job, 2));
  PLIMSOLL_ASSIGN(const PlannedJob planned, plan_programs(job, data, machine));
  PLIMSOLL_ASSIGN(const auto running,
                  RunningJob::open(job, planned, data, machine));
  counting::learn_modules();
  int epochs = 0;
  std::unique_ptr<char[]> planted;
  FitHooks hooks;
  hooks.on_progress = [&](const Progress& progress) {
    if (progress.epoch_end && progress.epoch == job.train.epochs)
      counting::stop_counting();
    if (plant_one && progress.epoch_end && progress.epoch == 2)
      planted.reset(new char[100]);
  };
  hooks.on_epoch = [&](const FitRecord&, const Progress&) -> Status {
    if (++epochs == 1) counting::start_counting();
    return {};
  };
  auto record =
      fit(job, *running, data, machine, {std::int64_t{1} << 40, 0}, {}, hooks);
  counting::stop_counting();
  if (!record) return std::move(record).error();
  EXPECT_EQ(epochs, job.train.epochs);
  EXPECT_EQ(record->charges_after_first_step, 0);
  return {};
}

void expect_none(const JobSpec& job) {
  const Status status = count_calls(job, false);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(counting::own_calls(), 0) << counting::own_callers();
  std::printf("calls by libraries: %lld\n",
              static_cast<long long>(counting::library_calls()));
}

Result<JobSpec> example_job(const std::string& name) {
  const std::vector<std::string> overrides = {
      "data.source.examples=5003", "train.epochs=3",
      "data.validation={type=\"random\", examples=1009, features=[1000], "
      "labels={type=\"binary\"}}"};
  return read_job_file(PLIMSOLL_EXAMPLES "/jobs/" + name, overrides);
}

// Little-endian arrays of zeros with NumPy's header.
void write_zeros(const std::string& path, const std::string& type,
                 std::int64_t rows, std::int64_t columns, int item_bytes) {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" +
      std::to_string(rows) + ", " + std::to_string(columns) + "), }";
  header.resize(117, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << std::string("\x93NUMPY\x01\0", 8) << '\x76' << '\0' << header;
  file << std::string(static_cast<std::size_t>(rows * columns * item_bytes),
                      '\0');
}

class Folder {
 public:
  Folder()
      : path_(::testing::TempDir() + "no_malloc_" + std::to_string(getpid())) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(NoMalloc, InMlp1000WithValidation) {
  const auto job = example_job("mlp1000.toml");
  ASSERT_TRUE(job) << job.error().message;
  expect_none(*job);
}

TEST(NoMalloc, InAStreamOfFilesWithCasts) {
  const Folder folder;
  write_zeros(folder.path() + "/x.npy", "<f8", 3001, 50, 8);
  write_zeros(folder.path() + "/y.npy", "|u1", 3001, 1, 1);
  const auto job = parse_job(R"([model]
input = [50]
layers = [{ type = "dense", units = 64, activation = "gelu" },
          { type = "dropout", rate = 0.5 },
          { type = "dense", units = 1, activation = "sigmoid" }]
[data]
source = { type = "npy", features = "x.npy", labels = "y.npy" }
pipeline = [{ stage = "shuffle" }, { stage = "batch" }, { stage = "prefetch" }]
[train]
epochs = 3
loss = "binary_crossentropy"
metrics = ["accuracy"]
)",
                             folder.path() + "/job.toml", {});
  ASSERT_TRUE(job) << job.error().message;
  expect_none(*job);
}

// Trains on 20 numbers each of `source`, read one after another.
void expect_none_with(const Folder& folder, const std::string& source,
                      const std::string& maps) {
  const std::string text = R"([model]
input = [20]
layers = [{ type = "dense", units = 16 },
          { type = "dense", units = 1, activation = "sigmoid" }]
[data]
source = { )" + source + R"( }
pipeline = [)" + maps + R"(
            { stage = "shuffle", elements = 100 }, { stage = "batch" },
            { stage = "prefetch" }]
[train]
epochs = 3
batch = 32
loss = "binary_crossentropy"
)";
  const auto job = parse_job(text, folder.path() + "/job.toml", {});
  ASSERT_TRUE(job) << job.error().message;
  expect_none(*job);
}

constexpr int kRows = 3001;

TEST(NoMalloc, InCsvRows) {
  const Folder folder;
  std::ofstream file(folder.path() + "/rows.csv");
  for (int i = 0; i < 20; ++i) file << 'a' << i << ',';
  file << "y\n";
  for (int row = 0; row < kRows; ++row) {
    for (int i = 0; i < 20; ++i) file << 0.25 * ((row + i) % 7) << ',';
    file << row % 2 << '\n';
  }
  file.close();
  expect_none_with(folder,
                   "type = \"csv\", files = [\"rows.csv\"], label = \"y\", "
                   "label_type = \"f32\"",
                   "");
}

TEST(NoMalloc, InTfRecords) {
  const Folder folder;
  auto writer = io::TfRecordWriter::create(folder.path() + "/a.tfrecord",
                                           io::Compression::gzip);
  ASSERT_TRUE(writer);
  const std::vector<float> x(20, 0.5f);
  for (int row = 0; row < kRows; ++row) {
    const float y = static_cast<float>(row % 2);
    const std::string record =
        io::ExampleBuilder().floats("x", x).floats("y", {&y, 1}).take();
    ASSERT_TRUE(writer->write(std::as_bytes(std::span(record))));
  }
  ASSERT_TRUE(writer->finish());
  expect_none_with(folder,
                   "type = \"tfrecord\", files = [\"a.tfrecord\"], "
                   "features = \"x\", features_shape = [20], labels = \"y\"",
                   "");
}

TEST(NoMalloc, InTarSamples) {
  const Folder folder;
  io::TarWriter tar;
  for (int row = 0; row < kRows; ++row) {
    const std::string key = std::to_string(row);
    tar.add(key + ".bin", std::string(20, static_cast<char>(row % 100)));
    tar.add(key + ".cls", row % 2 == 0 ? "0" : "1");
  }
  std::ofstream(folder.path() + "/a.tar", std::ios::binary) << tar.finished();
  expect_none_with(folder,
                   "type = \"webdataset\", files = [\"a.tar\"], "
                   "features = \"bin\", labels = \"cls\"",
                   "{ stage = \"reshape\", shape = [20] }, "
                   "{ stage = \"parse_number\", field = \"cls\", "
                   "to = \"f32\" }, ");
}

TEST(NoMalloc, APlantedCallIsFound) {
  const auto job = example_job("mlp1000.toml");
  ASSERT_TRUE(job) << job.error().message;
  const Status status = count_calls(*job, true);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(counting::own_calls(), 1);
  EXPECT_NE(counting::own_callers().find("no_malloc_test"), std::string::npos);
}

TEST(NoMalloc, PipelinesOfSetsAndStreams) {
  for (const char* pipeline :
       {"[{stage=\"shuffle\"}, {stage=\"scale\", factor=2.0}, "
        "{stage=\"batch\"}, {stage=\"prefetch\", batches=2}]",
        "[{stage=\"shuffle\", mode=\"window\", elements=100}, "
        "{stage=\"scale\", factor=2.0}, {stage=\"batch\"}, "
        "{stage=\"prefetch\"}]",
        "[{stage=\"shuffle\", mode=\"blocks\"}, {stage=\"filter\", "
        "least=0}, {stage=\"batch\"}, {stage=\"prefetch\"}]"}) {
    const std::vector<std::string> overrides = {
        "data.source.examples=5003", "train.epochs=3",
        std::string("data.pipeline=") + pipeline};
    const auto job =
        read_job_file(PLIMSOLL_EXAMPLES "/jobs/mlp1000.toml", overrides);
    ASSERT_TRUE(job) << job.error().message;
    SCOPED_TRACE(pipeline);
    expect_none(*job);
  }
}

}  // namespace
}  // namespace plimsoll::train
