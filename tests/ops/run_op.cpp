#include "ops/run_op.h"

#include <fmt/format.h>

#include "ops/cpu_kernels.h"
#include "ops/guarded_buffer.h"
#include "ops/tensor_values.h"

namespace plimsoll::ops::testing {
namespace {

Result<std::vector<RefTensor>> launch(const graph::KernelQuery& query,
                                      const std::vector<RefTensor>& inputs,
                                      ComputeThreads& threads) {
  const auto factory = make_cpu_kernels(threads);
  PLIMSOLL_ASSIGN(const auto candidates, factory->candidates(query));
  const graph::KernelCandidate& best = candidates.front();
  PLIMSOLL_ASSIGN(const auto kernel, factory->create(query, best));
  std::vector<GuardedBuffer> buffers;
  std::vector<const void*> from;
  std::vector<void*> to;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto bytes = encode(packed(inputs[i], best.input_layouts, i));
    buffers.emplace_back(bytes.size()).write(bytes);
    from.push_back(buffers.back().data());
  }
  for (std::size_t i = 0; i < query.outputs.size(); ++i) {
    const graph::TensorType type =
        packed_type(query.outputs[i], best.output_layouts, i);
    buffers.emplace_back(static_cast<std::size_t>(type.bytes())).poison(0xFF);
    to.push_back(buffers.back().data());
  }
  GuardedBuffer scratch(static_cast<std::size_t>(best.scratch_bytes));
  scratch.poison(0xFF);
  const LaunchArgs args{from.data(), to.data(), scratch.data()};
  if (kernel->launch(args) != LaunchStatus::ok) {
    return Error{ErrorCode::device,
                 fmt::format("the launch of {} failed", query.op->name)};
  }
  std::vector<RefTensor> outputs;
  for (std::size_t i = 0; i < query.outputs.size(); ++i) {
    const graph::TensorType type =
        packed_type(query.outputs[i], best.output_layouts, i);
    outputs.push_back(unpacked(decode(type, buffers[inputs.size() + i].read()),
                               query.outputs[i], best.output_layouts, i));
  }
  return outputs;
}

}  // namespace

RefTensor tensor_of(DType dtype, Shape shape, std::vector<double> values) {
  RefTensor tensor;
  tensor.type.dtype = dtype;
  tensor.type.shape = std::move(shape);
  tensor.values = std::move(values);
  return tensor;
}

Result<std::vector<RefTensor>> run_op(const graph::OpDef& op,
                                      const graph::Attrs& attrs,
                                      const std::vector<RefTensor>& inputs,
                                      ComputeThreads& threads) {
  graph::TypeList types;
  for (const RefTensor& input : inputs) types.push_back(input.type);
  PLIMSOLL_ASSIGN(const graph::TypeList outputs, op.infer(types, attrs));
  if (op.is_view) return std::vector<RefTensor>{{outputs[0], inputs[0].values}};
  const graph::KernelQuery query{&op, types, outputs, &attrs};
  Result<std::vector<RefTensor>> result =
      Error{ErrorCode::internal, "never run"};
  threads.enter([&] { result = launch(query, inputs, threads); });
  return result;
}

Result<std::vector<RefTensor>> run_graph(const graph::Graph& graph,
                                         std::int64_t batch,
                                         const std::vector<RefTensor>& inputs,
                                         ComputeThreads& threads) {
  std::vector<RefTensor> values(graph.values.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values[graph.inputs[i].pos()] = inputs[i];
  }
  for (const graph::Node& node : graph.nodes) {
    std::vector<RefTensor> operands;
    for (const graph::ValueId id : node.inputs) {
      operands.push_back(values[id.pos()]);
    }
    PLIMSOLL_ASSIGN(auto outputs,
                    run_op(*node.op, node.attrs.at(batch), operands, threads));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const graph::ValueId id = node.outputs[i];
      if (!(outputs[i].type == graph.type(id).at(batch))) {
        return Error{ErrorCode::internal,
                     fmt::format("{} gives {} at batch {} where the graph has "
                                 "{}",
                                 node.op->name, outputs[i].type.to_string(),
                                 batch, graph.type(id).to_string())};
      }
      values[id.pos()] = std::move(outputs[i]);
    }
  }
  return values;
}

}  // namespace plimsoll::ops::testing
