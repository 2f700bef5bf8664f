// Runs op records on the CPU's kernels and measures them against the f64
// references. Checks return one line a mistake: op, record, candidate, index,
// got, want.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "device/cpu/compute_threads.h"
#include "ops/kernel.h"
#include "ops/op_record.h"
#include "ops/reference.h"

namespace plimsoll::ops::testing {

using Mistakes = std::vector<std::string>;
using Bytes = std::vector<std::byte>;

// A record at the dtype it runs in, with its inputs and what must come out.
struct Case {
  const OpRecord* record = nullptr;
  graph::Attrs attrs;
  graph::TypeList inputs;
  graph::TypeList outputs;
  std::vector<RefTensor> values;
  std::vector<RefTensor> wanted;
  double tolerance = 0;
};

// The record with f32 replaced by another floating dtype, or as it stands.
Result<Case> make_case(const OpRecord& record, DType floating);
bool has_other_forms(const OpRecord& record);
// What one rounding to the dtype may cost, relative to 1 + the value.
double tolerance_of(const OpRecord& record, DType dtype);

// Which input each output shares its buffer with; -1: none.
using Sharing = std::vector<int>;

struct Run {
  std::vector<Bytes> outputs;
  Mistakes mistakes;
};
using RunOnce = std::function<Run(const Sharing& sharing, int poison)>;

// Every in-place variant, twice: against what is wanted, and bit for bit
// against `seen`, which the first run fills.
Mistakes check_runs(const Case& test, const std::string& what,
                    const RunOnce& run, std::vector<Bytes>& seen);

// Runs every candidate, with every in-place variant, twice. Equal names must
// give equal bits: `seen` carries them from one number of threads to the next.
Mistakes check_forward(const Case& test, const KernelFactory& factory,
                       ComputeThreads& threads,
                       std::map<std::string, std::vector<Bytes>>& seen);

// Lines for each element of `got` that is further from `want` than allowed.
Mistakes compare(const std::string& what, const std::vector<RefTensor>& got,
                 const std::vector<RefTensor>& want, double tolerance);

// Gradients of sum(op(x) * weights) against central differences, in f64.
Mistakes check_gradient(const OpRecord& record, ComputeThreads& threads);

}  // namespace plimsoll::ops::testing
