// Nothing is registered by halves: each op has kernel, reference and records.
#include "ops/registry.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "device/cpu/compute_threads.h"
#include "ops/all_records.h"
#include "ops/cpu_kernels.h"
#include "ops/harness.h"
#include "ops/reference.h"

namespace plimsoll::ops::testing {
namespace {

// Ops whose gradient rule no record reaches, each with its reason.
const std::set<std::string_view> kGradientExceptions = {
    // Flat where they are differentiable: nothing flows back.
    "sign", "equal",      "greater",       "greater_scalar",
    "less", "less_equal", "greater_equal", "not_equal"};

std::set<std::string_view> recorded_ops(bool with_gradient) {
  std::set<std::string_view> names;
  for (const OpRecord& record : all_records()) {
    if (record.op == nullptr) continue;
    if (with_gradient && record.gradient_of.empty()) continue;
    names.insert(record.op->name);
  }
  return names;
}

TEST(Registry, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const graph::OpDef* op : all_ops()) {
    EXPECT_TRUE(names.insert(op->name).second) << op->name << " twice";
    EXPECT_EQ(find_op(op->name), op) << op->name;
    EXPECT_NE(op->infer, nullptr) << op->name;
    EXPECT_NE(op->cost, nullptr) << op->name;
  }
  EXPECT_EQ(find_op("no_such_op"), nullptr);
}

TEST(Registry, RecordNamesAreUnique) {
  std::set<std::string> names;
  for (const OpRecord& record : all_records()) {
    EXPECT_TRUE(names.insert(record.name).second) << record.name << " twice";
  }
}

TEST(Registry, EveryOpHasReferenceAndRecord) {
  const auto recorded = recorded_ops(false);
  for (const graph::OpDef* op : all_ops()) {
    EXPECT_NE(find_reference(op->name), nullptr)
        << op->name << " has no reference";
    EXPECT_TRUE(recorded.contains(op->name)) << op->name << " has no record";
  }
}

TEST(Registry, EveryDifferentiableOpHasAGradientRecord) {
  const auto recorded = recorded_ops(true);
  for (const graph::OpDef* op : all_ops()) {
    if (op->gradient == nullptr || kGradientExceptions.contains(op->name)) {
      continue;
    }
    EXPECT_TRUE(recorded.contains(op->name))
        << op->name << " has a gradient that no record checks";
  }
}

// Records in one dtype put in another's place.
Result<std::vector<graph::KernelCandidate>> candidates_in(
    const OpRecord& record, DType dtype, const KernelFactory& factory) {
  graph::TypeList inputs = record.inputs;
  graph::Attrs attrs = record.attrs;
  for (graph::TensorType& type : inputs) {
    if (type.dtype == DType::f32) type.dtype = dtype;
  }
  PLIMSOLL_ASSIGN(const auto outputs, record.op->infer(inputs, attrs));
  return factory.candidates({record.op, inputs, outputs, &attrs});
}

TEST(Registry, EveryOpHasACpuKernel) {
  ComputeThreads threads(1);
  const auto factory = make_cpu_kernels(threads);
  std::set<std::string_view> with_kernel;
  threads.enter([&] {
    for (const OpRecord& record : all_records()) {
      if (candidates_in(record, DType::f32, *factory)) {
        with_kernel.insert(record.op->name);
      }
    }
  });
  for (const graph::OpDef* op : all_ops()) {
    // A view is its input's bytes: nothing runs.
    if (op->is_view) continue;
    EXPECT_TRUE(with_kernel.contains(op->name)) << op->name << " has none";
  }
}

TEST(Registry, AnUnsupportedDtypeIsRefusedByName) {
  const std::set<std::string_view> floating_only = {
      "add",
      "relu",
      "matmul",
      "reduce_sum",
      "reduce_max",
      "softmax",
      "softmax_cross_entropy",
      "sparse_softmax_cross_entropy",
      "dropout",
      "argmax_equals",
      "divide_by_count",
      "layer_norm",
      "batch_norm",
      "attention"};
  ComputeThreads threads(1);
  const auto factory = make_cpu_kernels(threads);
  std::set<std::string_view> refused;
  threads.enter([&] {
    for (const OpRecord& record : all_records()) {
      if (!floating_only.contains(record.op->name)) continue;
      if (!has_other_forms(record)) continue;
      const auto offered = candidates_in(record, DType::i16, *factory);
      if (offered) {
        ADD_FAILURE() << record.name << " runs in i16";
        continue;
      }
      const Error& error = offered.error();
      refused.insert(record.op->name);
      // An op may refuse the dtype at shape inference already.
      EXPECT_NE(error.message.find(record.op->name), std::string::npos)
          << error.message;
      EXPECT_NE(error.message.find("i16"), std::string::npos) << error.message;
      if (error.code == ErrorCode::unsupported) {
        EXPECT_NE(error.message.find("cpu"), std::string::npos)
            << error.message;
      }
    }
  });
  EXPECT_EQ(refused, floating_only);
}

}  // namespace
}  // namespace plimsoll::ops::testing
