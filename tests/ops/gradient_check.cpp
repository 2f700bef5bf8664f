#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/philox.h"
#include "graph/autodiff.h"
#include "ops/elementwise/elementwise.h"
#include "ops/harness.h"
#include "ops/reduction/reduction.h"
#include "ops/run_op.h"
#include "ops/standard_ops.h"
#include "ops/tensor_values.h"

namespace plimsoll::ops::testing {
namespace {

using graph::ValueId;

constexpr double kStep = 1e-5;
// Elements of an input that are nudged; spread over large ones.
constexpr std::size_t kMostElements = 48;

RefTensor random_weights(const graph::TensorType& type, std::uint64_t stream) {
  RefTensor weights{type, {}};
  for (std::int64_t i = 0; i < type.shape.elements(); ++i) {
    const PhiloxBlock words = philox(7, stream, static_cast<std::uint64_t>(i));
    weights.values.push_back(2 * uniform_double(words[0], words[1]) - 1);
  }
  return weights;
}

// sum(outputs * weights) of the reference.
long double loss_at(const Case& test, const std::vector<RefTensor>& inputs,
                    const std::vector<RefTensor>& weights) {
  std::vector<RefTensor> outputs = test.wanted;
  find_reference(test.record->op->name)(inputs, test.attrs, outputs);
  long double loss = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    for (std::size_t j = 0; j < outputs[i].values.size(); ++j) {
      loss += static_cast<long double>(outputs[i].values[j]) *
              static_cast<long double>(weights[i].values[j]);
    }
  }
  return loss;
}

double difference(const Case& test, std::size_t input, std::size_t element,
                  const std::vector<RefTensor>& weights) {
  std::vector<RefTensor> inputs = test.values;
  double& x = inputs[input].values[element];
  const double middle = x;
  const double step = kStep * std::max(1.0, std::abs(middle));
  x = middle + step;
  const double high = x;
  const long double up = loss_at(test, inputs, weights);
  x = middle - step;
  const double low = x;
  const long double down = loss_at(test, inputs, weights);
  return static_cast<double>((up - down) /
                             static_cast<long double>(high - low));
}

// Gradients by autodiff and the f64 kernels.
Result<std::vector<RefTensor>> graph_gradients(
    const Case& test, const std::vector<RefTensor>& weights,
    ComputeThreads& threads) {
  graph::Builder builder;
  std::vector<RefTensor> fed = test.values;
  std::vector<ValueId> inputs;
  for (const graph::TensorType& type : test.inputs) {
    inputs.push_back(builder.input("x", type));
  }
  const auto outputs = builder.emit_all(*test.record->op, inputs, test.attrs);
  if (!builder.ok()) return builder.status().error();
  ValueId loss;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    // Indices do not change with a small step.
    if (!is_floating(weights[i].type.dtype)) continue;
    const ValueId weight = builder.input("w", weights[i].type);
    fed.push_back(weights[i]);
    const ValueId part =
        reduce_sum(builder, multiply(builder, outputs[i], weight), {});
    loss = loss.valid() ? add(builder, loss, part) : part;
  }
  if (!builder.ok()) return builder.status().error();
  const ValueId seed = builder.input("seed", builder.type(loss));
  fed.push_back({builder.type(loss), {1.0}});
  std::vector<ValueId> wanted;
  for (const int index : test.record->gradient_of) {
    wanted.push_back(inputs[static_cast<std::size_t>(index)]);
  }
  PLIMSOLL_ASSIGN(const auto ids, graph::add_gradients(builder, loss, seed,
                                                       wanted, standard_ops()));
  PLIMSOLL_ASSIGN(const graph::Graph graph, std::move(builder).finish());
  PLIMSOLL_ASSIGN(const auto values, run_graph(graph, 1, fed, threads));
  std::vector<RefTensor> gradients;
  for (const ValueId id : ids) gradients.push_back(values[id.pos()]);
  return gradients;
}

}  // namespace

Mistakes check_gradient(const OpRecord& record, ComputeThreads& threads) {
  const std::string what =
      fmt::format("op {}, record {}, gradient", record.op->name, record.name);
  const Result<Case> test = make_case(record, DType::f64);
  if (!test) return {what + ": " + test.error().message};
  std::vector<RefTensor> weights;
  const std::size_t flowing =
      record.gradient_outputs > 0
          ? static_cast<std::size_t>(record.gradient_outputs)
          : test->outputs.size();
  for (std::size_t i = 0; i < flowing; ++i) {
    weights.push_back(random_weights(test->outputs[i], i));
  }
  const auto gradients = graph_gradients(*test, weights, threads);
  if (!gradients) return {what + ": " + gradients.error().message};

  Mistakes mistakes;
  for (std::size_t g = 0; g < gradients->size(); ++g) {
    const auto input = static_cast<std::size_t>(record.gradient_of[g]);
    const RefTensor& got = (*gradients)[g];
    if (!(got.type == test->inputs[input])) {
      mistakes.push_back(fmt::format("{} of input {} is {}, want {}", what,
                                     input, got.type.to_string(),
                                     test->inputs[input].to_string()));
      continue;
    }
    const std::size_t stride =
        std::max<std::size_t>(1, got.values.size() / kMostElements);
    for (std::size_t i = 0; i < got.values.size(); i += stride) {
      const double want = difference(*test, input, i, weights);
      if (std::abs(got.values[i] - want) <=
          record.gradient_tolerance * (1 + std::abs(want))) {
        continue;
      }
      mistakes.push_back(
          fmt::format("{} of input {}, index {}: got {:.17g}, want {:.17g}",
                      what, input, i, got.values[i], want));
    }
  }
  return mistakes;
}

}  // namespace plimsoll::ops::testing
