#include "step/bench_job.h"

#include <cmath>
#include <string>

#include "base/philox.h"
#include "data/sets/array_set.h"

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

train::JobSpec spec_of(const BenchJob& bench, const BenchPrefetch& prefetch) {
  train::JobSpec job = spec_of(bench);
  data::Recipe shuffle;
  shuffle.name = "shuffle";
  if (prefetch.shuffle) job.data.pipeline.push_back(shuffle);
  data::Recipe ahead;
  ahead.name = "prefetch";
  ahead.options["batches"] = prefetch.batches;
  ahead.options["readers"] = prefetch.readers;
  job.data.pipeline.push_back(ahead);
  return job;
}

std::vector<float> features_of(const BenchJob& bench) {
  return uniform(bench.examples * bench.widths.front(), 1, false);
}

std::vector<float> labels_of(const BenchJob& bench) {
  return uniform(bench.examples * bench.widths.back(), 2,
                 std::string(bench.last) == "sigmoid");
}

Result<train::JobData> data_over(const BenchJob& bench,
                                 const train::JobSpec& job, int threads,
                                 const std::vector<float>& features,
                                 const std::vector<float>& labels) {
  train::JobData data;
  PLIMSOLL_ASSIGN(
      data.sources[0],
      data::ArraySet::create(
          bench.examples,
          {{data::fixed_field("features", DType::f32, {bench.widths.front()}),
            features.data()},
           {data::fixed_field("labels", DType::f32, {bench.widths.back()}),
            labels.data()}}));
  PLIMSOLL_ASSIGN(data.inputs[0],
                  train::pipe(job, train::Stage::train, threads,
                              data::source_over(data.sources[0])));
  return data;
}

}  // namespace plimsoll
