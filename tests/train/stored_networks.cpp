#include "train/stored_networks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "device/device_name.h"
#include "io/convert.h"
#include "io/safetensors.h"
#include "train/fit.h"
#include "train/job_file/job_file.h"
#include "train/workplace.h"

namespace plimsoll::train::testing {
namespace {

// Tests can be run where they were not built.
const std::string kFolder =
    std::string(std::getenv("PLIMSOLL_NETWORKS") != nullptr
                    ? std::getenv("PLIMSOLL_NETWORKS")
                    : PLIMSOLL_NETWORKS) +
    "/";
constexpr const char* kMoment = "/first_moment";

// A smaller share of the whole is rounding and nothing else, in f64 too: a
// key's bias moves all scores of a query alike. It is then relative to the
// whole.
constexpr double kNothing = 1e-12;

using Values = std::map<std::string, std::vector<double>>;

std::vector<double> wide(DType dtype, std::span<const std::byte> bytes) {
  std::vector<double> values(bytes.size() /
                             static_cast<std::size_t>(size_of(dtype)));
  io::convert(dtype, bytes.data(), DType::f64, values.data(),
              static_cast<std::int64_t>(values.size()));
  return values;
}

Values read_vectors(const std::string& name) {
  const auto file = io::SafetensorsFile::open(kFolder + name + ".safetensors");
  EXPECT_TRUE(file) << file.error().message;
  Values values;
  for (const auto& entry : file->entries()) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(entry.bytes));
    EXPECT_TRUE(file->read(entry, bytes).ok());
    values[entry.name] = wide(entry.dtype, bytes);
  }
  return values;
}

// The stored job over the stored examples. Adam's first moment is the gradient,
// and no parameter moves.
JobSpec probe_of(const std::string& name, const char* precision) {
  const std::string overrides[] = {
      "data.source={type=\"npy\", features=\"" + name +
          ".features.npy\", labels=\"" + name + ".labels.npy\"}",
      "data.pipeline=[{stage=\"batch\"}]",
      "train.optimizer={type=\"adam\", learning_rate=1e-30, beta_1=0.0, "
      "beta_2=0.0, epsilon=1.0}",
      "train.metrics=[]", std::string("train.precision=") + precision};
  auto job = read_job_file(kFolder + name + ".toml", overrides);
  EXPECT_TRUE(job) << job.error().message;
  for (LayerSpec& layer : job->model.layers) layer.rate = 0;  // of dropouts
  return *std::move(job);
}

Status set_parameters(RunningJob& job, const Values& start) {
  const auto& states = job.planned().needs.states;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto found = start.find(states[i].name);
    if (found == start.end()) continue;
    const DType dtype = states[i].type.dtype;
    PLIMSOLL_RETURN_IF_ERROR(job.fill_state(
        i, [&](std::int64_t offset, std::span<std::byte> piece) -> Status {
          const std::int64_t item = size_of(dtype);
          io::convert(DType::f64, found->second.data() + offset / item, dtype,
                      piece.data(),
                      static_cast<std::int64_t>(piece.size()) / item);
          return {};
        }));
  }
  return {};
}

Result<Values> read_gradients(RunningJob& job) {
  Values made;
  const auto& states = job.planned().needs.states;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto at = states[i].name.find(kMoment);
    if (at == std::string::npos) continue;
    auto& values = made[states[i].name.substr(0, at)];
    const DType dtype = states[i].type.dtype;
    const auto bytes = states[i].type.bytes();
    for (std::int64_t offset = 0; offset < bytes;) {
      PLIMSOLL_ASSIGN(const auto piece,
                      job.state_piece(i, offset, bytes - offset));
      const auto part = wide(dtype, piece);
      values.insert(values.end(), part.begin(), part.end());
      offset += static_cast<std::int64_t>(piece.size());
    }
  }
  return made;
}

struct Made {
  double loss = 0;
  Values gradients;
};

Result<Made> train_one_step(const JobSpec& job, const std::string& device,
                            const Values& start) {
  RunOptions options;
  options.host_memory_flag = "8GiB";
  options.device = device;
  options.threads = 2;
  if (device != "cpu") options.device_memory_flag = "2GiB";
  PLIMSOLL_ASSIGN(const Workplace place, open_workplace(job, options));
  Machine& machine = *place.machine;
  PLIMSOLL_ASSIGN(JobData data, open_data(job, options.threads));
  PLIMSOLL_ASSIGN(const PlannedJob planned, plan_programs(job, data, machine));
  if (place.device_budget) {
    PLIMSOLL_ASSIGN(const int ordinal, cuda_ordinal(device));
    PLIMSOLL_RETURN_IF_ERROR(machine.open_device(ordinal, ""));
  }
  PLIMSOLL_ASSIGN(const auto running,
                  RunningJob::open(job, planned, data, machine));
  PLIMSOLL_RETURN_IF_ERROR(set_parameters(*running, start));
  PLIMSOLL_ASSIGN(
      const FitRecord record,
      fit(job, *running, data, machine, {std::int64_t{1} << 40, 0}, {}, {}));
  Made made{.loss = record.history.loss_by_epoch.at(0), .gradients = {}};
  PLIMSOLL_ASSIGN(made.gradients, read_gradients(*running));
  return made;
}

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

double distance(std::vector<double> a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) a[i] -= b[i];
  return norm(a);
}

}  // namespace

void expect_pytorchs(const std::string& name, const std::string& device,
                     const char* precision, double limit) {
  const Values stored = read_vectors(name);
  const auto made = train_one_step(probe_of(name, precision), device, stored);
  ASSERT_TRUE(made) << made.error().message;
  const double loss = stored.at("loss").at(0);
  EXPECT_NEAR(made->loss, loss, limit * loss);
  double squares = 0;
  for (const auto& [tensor, got] : made->gradients) {
    squares += std::pow(norm(stored.at(tensor + "/gradient")), 2);
  }
  const double whole = std::sqrt(squares);
  for (const auto& [tensor, got] : made->gradients) {
    const auto& wanted = stored.at(tensor + "/gradient");
    const double size = norm(wanted) > kNothing * whole ? norm(wanted) : whole;
    EXPECT_LE(distance(got, wanted) / size, limit) << name << ": " << tensor;
  }
  // The loss, a start and a gradient each, and no other.
  EXPECT_EQ(stored.size(), 1 + 2 * made->gradients.size()) << name;
}

}  // namespace plimsoll::train::testing
