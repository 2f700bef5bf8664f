#include "ops/harness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ops/guarded_buffer.h"
#include "ops/in_dtype.h"
#include "ops/tensor_values.h"

namespace plimsoll::ops::testing {
namespace {

constexpr std::size_t kMostLines = 5;

// Nothing shared, each declared pair alone, and as many as go together. Only
// values of one type ever share, see graph/lowering.cpp.
std::vector<Sharing> sharings(const Case& test) {
  std::vector<Sharing> all = {Sharing(test.outputs.size(), -1)};
  Sharing together = all[0];
  std::set<int> taken;
  for (const graph::InPlace& pair : test.record->op->in_place) {
    const auto input = static_cast<std::size_t>(pair.input);
    const auto output = static_cast<std::size_t>(pair.output);
    if (input >= test.inputs.size() || output >= test.outputs.size() ||
        test.inputs[input] != test.outputs[output]) {
      continue;
    }
    Sharing one(test.outputs.size(), -1);
    one[output] = pair.input;
    all.push_back(one);
    if (together[output] < 0 && taken.insert(pair.input).second) {
      together[output] = pair.input;
    }
  }
  if (taken.size() > 1) all.push_back(together);
  return all;
}

std::string text_of(const Sharing& sharing) {
  std::string text;
  for (std::size_t i = 0; i < sharing.size(); ++i) {
    if (sharing[i] < 0) continue;
    text += fmt::format(" output {} in input {}", i, sharing[i]);
  }
  return text;
}

Run run_guarded(const Case& test, Kernel& kernel,
                const graph::KernelCandidate& candidate, const Sharing& sharing,
                int poison, ComputeThreads& threads) {
  std::vector<GuardedBuffer> inputs;
  std::vector<GuardedBuffer> outputs;
  std::vector<Bytes> written;
  std::vector<const void*> input_pointers;
  std::vector<void*> output_pointers;
  for (std::size_t i = 0; i < test.values.size(); ++i) {
    written.push_back(
        encode(packed(test.values[i], candidate.input_layouts, i)));
    inputs.emplace_back(written.back().size()).write(written.back());
    input_pointers.push_back(inputs.back().data());
  }
  for (std::size_t i = 0; i < test.outputs.size(); ++i) {
    const graph::TensorType type =
        packed_type(test.outputs[i], candidate.output_layouts, i);
    outputs.emplace_back(static_cast<std::size_t>(type.bytes()));
    outputs.back().poison(poison);
    output_pointers.push_back(
        sharing[i] < 0 ? outputs.back().data()
                       : inputs[static_cast<std::size_t>(sharing[i])].data());
  }
  GuardedBuffer scratch(static_cast<std::size_t>(candidate.scratch_bytes));
  scratch.poison(poison);

  LaunchStatus status = LaunchStatus::failed;
  const LaunchArgs args{input_pointers.data(), output_pointers.data(),
                        scratch.data()};
  threads.enter([&] { status = kernel.launch(args); });

  Run run;
  if (status != LaunchStatus::ok) run.mistakes.push_back("the launch failed");
  if (!scratch.intact()) run.mistakes.push_back("writes outside of scratch");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool shared =
        std::count(sharing.begin(), sharing.end(), static_cast<int>(i)) > 0;
    if (!inputs[i].intact()) {
      run.mistakes.push_back(fmt::format("writes outside of input {}", i));
    }
    if (!shared && inputs[i].read() != written[i]) {
      run.mistakes.push_back(fmt::format("changes input {}", i));
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].intact()) {
      run.mistakes.push_back(fmt::format("writes outside of output {}", i));
    }
    const graph::TensorType type =
        packed_type(test.outputs[i], candidate.output_layouts, i);
    Bytes bytes = sharing[i] < 0
                      ? outputs[i].read()
                      : inputs[static_cast<std::size_t>(sharing[i])].read();
    if (type != test.outputs[i]) {
      bytes = encode(unpacked(decode(type, bytes), test.outputs[i],
                              candidate.output_layouts, i));
    }
    run.outputs.push_back(std::move(bytes));
  }
  return run;
}

std::vector<RefTensor> decoded(const graph::TypeList& types,
                               const std::vector<Bytes>& bytes) {
  std::vector<RefTensor> tensors;
  for (std::size_t i = 0; i < types.size(); ++i) {
    tensors.push_back(decode(types[i], bytes[i]));
  }
  return tensors;
}

Mistakes check_candidate(const Case& test, const graph::KernelQuery& query,
                         const graph::KernelCandidate& candidate,
                         const KernelFactory& factory, ComputeThreads& threads,
                         std::vector<Bytes>& seen) {
  const std::string what = fmt::format(
      "op {}, record {} ({}), candidate {}", query.op->name, test.record->name,
      name_of(test.outputs[0].dtype), candidate.name);
  std::unique_ptr<Kernel> kernel;
  std::string refusal;
  threads.enter([&] {
    auto made = factory.create(query, candidate);
    if (made) {
      kernel = *std::move(made);
    } else {
      refusal = made.error().message;
    }
  });
  if (kernel == nullptr) return {what + ": not created: " + refusal};

  const auto run = [&](const Sharing& sharing, int poison) {
    return run_guarded(test, *kernel, candidate, sharing, poison, threads);
  };
  return check_runs(test, fmt::format("{}, {} threads", what, threads.size()),
                    run, seen);
}

// A view has no kernel: its output is the input's bytes.
Mistakes check_view(const Case& test) {
  const auto got = decoded(test.outputs, {encode(test.values[0])});
  return compare(fmt::format("op {}, record {}, as a view",
                             test.record->op->name, test.record->name),
                 got, test.wanted, 0);
}

}  // namespace

Mistakes check_runs(const Case& test, const std::string& what,
                    const RunOnce& run_once, std::vector<Bytes>& seen) {
  Mistakes mistakes;
  for (const Sharing& sharing : sharings(test)) {
    // All bits set is NaN; the other poison shows what reads stale bytes.
    for (const int poison : {0xFF, 0x3E}) {
      Run run = run_once(sharing, poison);
      const std::string where = what + text_of(sharing);
      for (const std::string& mistake : run.mistakes) {
        mistakes.push_back(where + ": " + mistake);
      }
      if (run.outputs.size() != test.outputs.size()) return mistakes;
      if (seen.empty()) seen = run.outputs;
      if (seen != run.outputs) {
        mistakes.push_back(where + ": other bits than in an earlier run");
      }
      const auto wrong = compare(where, decoded(test.outputs, run.outputs),
                                 test.wanted, test.tolerance);
      mistakes.insert(mistakes.end(), wrong.begin(), wrong.end());
      if (!mistakes.empty()) return mistakes;
    }
  }
  return mistakes;
}

bool has_other_forms(const OpRecord& record) {
  // Mixed dtypes stand as they are.
  if (record.attrs.has("dtypes") || record.attrs.has("out")) return false;
  return std::any_of(
      record.inputs.begin(), record.inputs.end(),
      [](const graph::TensorType& type) { return type.dtype == DType::f32; });
}

double tolerance_of(const OpRecord& record, DType dtype) {
  switch (dtype) {
    case DType::f64:
      return std::min(record.tolerance, record.f64_tolerance);
    case DType::bf16:
      return std::max(record.tolerance, 0x1p-7);
    case DType::f16:
      return std::max(record.tolerance, 0x1p-9);
    default:
      return record.tolerance;
  }
}

Result<Case> make_case(const OpRecord& record, DType floating) {
  PLIMSOLL_ASSIGN(TypedRecord typed, in_dtype(record, floating));
  Case test;
  test.record = &record;
  test.attrs = std::move(typed.attrs);
  test.inputs = std::move(typed.inputs);
  test.outputs = std::move(typed.outputs);
  test.values = random_inputs(record, test.inputs);
  const ReferenceFn reference = find_reference(record.op->name);
  if (reference == nullptr) {
    return Error{ErrorCode::internal,
                 fmt::format("op {} has no reference", record.op->name)};
  }
  for (const graph::TensorType& type : test.outputs) {
    const auto count = static_cast<std::size_t>(type.shape.elements());
    test.wanted.push_back({type, std::vector<double>(count)});
  }
  reference(test.values, test.attrs, test.wanted);
  // What f16 cannot hold is infinite in the best of kernels.
  for (RefTensor& wanted : test.wanted) {
    if (wanted.type.dtype != DType::f16) continue;
    wanted = decode(wanted.type, encode(wanted));
  }
  test.tolerance = tolerance_of(record, test.outputs[0].dtype);
  return test;
}

Mistakes compare(const std::string& what, const std::vector<RefTensor>& got,
                 const std::vector<RefTensor>& want, double tolerance) {
  Mistakes lines;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    for (std::size_t j = 0; j < want[i].values.size(); ++j) {
      const double g = got[i].values[j];
      const double w = want[i].values[j];
      const bool same = g == w || (std::isnan(g) && std::isnan(w));
      if (same || std::abs(g - w) <= tolerance * (1 + std::abs(w))) continue;
      if (++wrong > kMostLines) continue;
      lines.push_back(
          fmt::format("{}, output {} index {}: got {:.17g}, want {:.17g}", what,
                      i, j, g, w));
    }
  }
  if (wrong > kMostLines) {
    lines.push_back(fmt::format("{}: {} elements are wrong", what, wrong));
  }
  return lines;
}

Mistakes check_forward(const Case& test, const KernelFactory& factory,
                       ComputeThreads& threads,
                       std::map<std::string, std::vector<Bytes>>& seen) {
  const graph::KernelQuery query{test.record->op, test.inputs, test.outputs,
                                 &test.attrs};
  Result<std::vector<graph::KernelCandidate>> offered =
      Error{ErrorCode::internal, "never asked"};
  threads.enter([&] { offered = factory.candidates(query); });
  if (!offered && test.record->op->is_view) return check_view(test);
  if (!offered) {
    return {fmt::format("record {}: {}", test.record->name,
                        offered.error().message)};
  }
  Mistakes mistakes;
  for (const graph::KernelCandidate& candidate : *offered) {
    const auto found = check_candidate(test, query, candidate, factory, threads,
                                       seen[candidate.name]);
    mistakes.insert(mistakes.end(), found.begin(), found.end());
  }
  return mistakes;
}

}  // namespace plimsoll::ops::testing
