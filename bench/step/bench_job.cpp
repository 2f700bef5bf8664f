#include "step/bench_job.h"

#include <cmath>
#include <string>

#include "base/philox.h"

namespace plimsoll {
namespace {

const BenchJob kJobs[] = {
    {"mlp1000",
     {1000, 128, 1},
     "relu",
     "sigmoid",
     "binary_crossentropy",
     16384},
    {"linear100", {100, 10}, "relu", "linear", "mean_squared_error", 163840}};

std::vector<float> uniform(std::int64_t count, std::uint64_t key, bool whole) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = uniform_float(philox(key, 0, i)[0]);
    values[i] = whole ? std::round(value) : value;
  }
  return values;
}

}  // namespace

std::span<const BenchJob> bench_jobs() { return kJobs; }

train::JobSpec spec_of(const BenchJob& bench) {
  train::JobSpec job;
  job.model.input = {bench.widths.front()};
  for (std::size_t i = 1; i < bench.widths.size(); ++i) {
    train::LayerSpec layer;
    layer.type = "dense";
    layer.units = bench.widths[i];
    layer.activation = i + 1 == bench.widths.size() ? bench.last : bench.hidden;
    job.model.layers.push_back(layer);
  }
  job.data.source.name = "arrays";
  job.train.loss = bench.loss;
  return job;
}

std::vector<float> features_of(const BenchJob& bench) {
  return uniform(bench.examples * bench.widths.front(), 1, false);
}

std::vector<float> labels_of(const BenchJob& bench) {
  return uniform(bench.examples * bench.widths.back(), 2,
                 std::string(bench.last) == "sigmoid");
}

}  // namespace plimsoll
