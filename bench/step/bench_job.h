// The two jobs whose steps are measured, as the peers have them too.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "train/job_data.h"
#include "train/job_spec.h"

namespace plimsoll {

struct BenchJob {
  const char* name;
  std::vector<std::int64_t> widths;
  const char* hidden;
  const char* last;
  const char* loss;
  std::int64_t examples;  // about 64 MiB of data, as the peers hold
};

std::span<const BenchJob> bench_jobs();

// Model and loss; the pipeline is the caller's.
train::JobSpec spec_of(const BenchJob& bench);

// The same, with `batches` read ahead.
struct BenchPrefetch {
  bool shuffle = true;
  std::int64_t batches = 4;
  std::int64_t readers = 1;
};
train::JobSpec spec_of(const BenchJob& bench, const BenchPrefetch& prefetch);

// In [0, 1), from a counter.
std::vector<float> features_of(const BenchJob& bench);
// As well, or 0 and 1 where the last layer is a sigmoid.
std::vector<float> labels_of(const BenchJob& bench);

// Training data over the two arrays, which must outlive it.
Result<train::JobData> data_over(const BenchJob& bench,
                                 const train::JobSpec& job, int threads,
                                 const std::vector<float>& features,
                                 const std::vector<float>& labels);

}  // namespace plimsoll
