#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/hash.h"
#include "graph/lowered.h"
#include "graph/sizes.h"

namespace plimsoll::graph {
namespace {

// Who touched a buffer so far, for the edges that keep its contents right.
struct BufferHistory {
  int last_writer = -1;
  std::vector<int> readers_since;
};

class Lowering {
 public:
  Lowering(const Graph& graph, std::int64_t batch,
           const PlaceCatalogs& catalogs, const StandardOps& ops)
      : graph_(graph),
        catalogs_(catalogs),
        ops_(ops),
        buffer_of_(graph.values.size()),
        last_reader_(graph.values.size(), -1),
        assigned_to_(graph.values.size()) {
    program_.batch = batch;
  }

  Result<LoweredGraph> run() {
    PLIMSOLL_RETURN_IF_ERROR(check_sizes(graph_, program_.batch));
    find_last_readers();
    for (const Assign& assign : graph_.assigns) {
      assigned_to_[assign.value.pos()] = assign.state;
    }
    add_fixed_buffers();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      PLIMSOLL_RETURN_IF_ERROR(add_node(static_cast<int>(i)));
    }
    for (const Assign& assign : graph_.assigns) {
      PLIMSOLL_RETURN_IF_ERROR(finish_assign(assign));
    }
    for (const ValueId output : graph_.outputs) {
      const BufferId id = buffer_of_[output.pos()];
      program_.outputs.push_back(id);
      program_.buffers[id.pos()].output = true;
    }
    return std::move(program_);
  }

 private:
  TensorType fixed_type(ValueId id) const {
    return graph_.type(id).at(program_.batch);
  }

  // A view's readers read the viewed value, so they count for its root.
  ValueId root_of(ValueId id) const { return graph_.root_of(id); }

  void find_last_readers() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const ValueId input : graph_.nodes[i].inputs) {
        last_reader_[root_of(input).pos()] = static_cast<int>(i);
      }
    }
    constexpr int kForever = 1 << 30;
    for (const ValueId output : graph_.outputs) {
      last_reader_[root_of(output).pos()] = kForever;
    }
    for (const Assign& assign : graph_.assigns) {
      const ValueId root = root_of(assign.value);
      if (root != assign.value) last_reader_[root.pos()] = kForever;
    }
  }

  BufferId add_buffer(Buffer buffer) {
    const BufferId id(program_.buffers.size());
    program_.buffers.push_back(std::move(buffer));
    history_.emplace_back();
    return id;
  }

  void add_fixed_buffers() {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      const ValueId value = graph_.inputs[i];
      buffer_of_[value.pos()] = add_buffer(
          {graph_.value(value).name, fixed_type(value).bytes(),
           BufferKind::input, Phase::forward, static_cast<int>(i), false});
      program_.inputs.push_back(buffer_of_[value.pos()]);
    }
    for (std::size_t i = 0; i < graph_.states.size(); ++i) {
      const ValueId value = graph_.states[i].value;
      buffer_of_[value.pos()] = add_buffer(
          {graph_.states[i].name, fixed_type(value).bytes(), BufferKind::state,
           Phase::forward, static_cast<int>(i), false, graph_.states[i].place});
      program_.states.push_back(buffer_of_[value.pos()]);
    }
  }

  // Whether the node at `position` reads `root` exactly once, and only as the
  // input that its output may overwrite.
  bool reads_only_at(const Node& node, ValueId root, int input) const {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (static_cast<int>(i) != input && root_of(node.inputs[i]) == root) {
        return false;
      }
    }
    return true;
  }

  // The buffer of an input that this output may take over, if any.
  std::optional<BufferId> in_place_buffer(const Node& node, int position,
                                          int output) const {
    const ValueId result = node.outputs[static_cast<std::size_t>(output)];
    for (const InPlace& pair : node.op->in_place) {
      if (pair.output != output ||
          pair.input >= static_cast<int>(node.inputs.size())) {
        continue;
      }
      const ValueId input = node.inputs[static_cast<std::size_t>(pair.input)];
      const ValueId root = root_of(input);
      const BufferId buffer = buffer_of_[root.pos()];
      const bool free_after =
          program_.buffers[buffer.pos()].kind == BufferKind::transient &&
          program_.buffers[buffer.pos()].place == node.place &&
          !is_assigned(root);
      const bool same_state = assigned_to_[result.pos()] == root;
      if ((free_after || same_state) && last_reader_[root.pos()] == position &&
          graph_.type(input) == graph_.type(result) &&
          reads_only_at(node, root, pair.input) && !taken(node, buffer)) {
        return buffer;
      }
    }
    return std::nullopt;
  }

  // An assigned value must survive until the end of the program unless it was
  // written into its state directly.
  bool is_assigned(ValueId id) const { return assigned_to_[id.pos()].valid(); }

  // Two outputs of one node never share a buffer.
  bool taken(const Node& node, BufferId buffer) const {
    return std::any_of(
        node.outputs.begin(), node.outputs.end(),
        [&](ValueId output) { return buffer_of_[output.pos()] == buffer; });
  }

  // State that nobody reads any more can be written by its producer directly.
  std::optional<BufferId> state_buffer(const Node& node, int position,
                                       ValueId result) const {
    const ValueId state = assigned_to_[result.pos()];
    if (!state.valid() || last_reader_[state.pos()] >= position) return {};
    const BufferId buffer = buffer_of_[state.pos()];
    if (taken(node, buffer)) return {};
    return buffer;
  }

  Status add_node(int position) {
    const Node& node = graph_.nodes[static_cast<std::size_t>(position)];
    if (node.op->is_view) {
      buffer_of_[node.outputs[0].pos()] = buffer_of_[node.inputs[0].pos()];
      return {};
    }
    Instruction step;
    step.name = fmt::format("{}/{}", node.name, node.op->name);
    step.op = node.op;
    step.attrs = node.attrs.at(program_.batch);
    step.phase = node.phase;
    step.place = node.place;
    step.repeats = node.repeats;
    for (const ValueId input : node.inputs) {
      step.input_types.push_back(fixed_type(input));
      step.inputs.push_back(buffer_of_[input.pos()]);
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const ValueId output = node.outputs[k];
      step.output_types.push_back(fixed_type(output));
      auto buffer = in_place_buffer(node, position, static_cast<int>(k));
      if (!buffer) buffer = state_buffer(node, position, output);
      if (!buffer) {
        buffer = add_buffer({step.name, step.output_types.back().bytes(),
                             BufferKind::transient, node.phase, -1, false,
                             node.place});
      }
      buffer_of_[output.pos()] = *buffer;
      step.outputs.push_back(*buffer);
    }
    return add_instruction(std::move(step));
  }

  Status finish_assign(const Assign& assign) {
    const BufferId from = buffer_of_[assign.value.pos()];
    const BufferId to = buffer_of_[assign.state.pos()];
    if (from == to) return {};
    Instruction step;
    step.name = graph_.value(assign.state).name + "/assign";
    step.op = ops_.copy;
    step.phase = Phase::update;
    step.input_types = {fixed_type(assign.value)};
    step.output_types = {fixed_type(assign.state)};
    step.inputs = {from};
    step.outputs = {to};
    step.place = program_.buffers[to.pos()].place;
    return add_instruction(std::move(step));
  }

  // Passes have put everything a node reads at its place, except for the
  // copies that bring it there.
  bool is_transfer(const Instruction& step) const {
    if (step.op != ops_.copy) return false;
    const Buffer& from = program_.buffer(step.inputs[0]);
    return from.kind != BufferKind::input && from.place != step.place;
  }

  Status choose_kernel(Instruction& step) const {
    const bool to_host = step.place == Place::host;
    if (is_transfer(step)) {
      step.transfer = true;
      step.kernel.name = "transfer";
      step.kernel.seconds = static_cast<double>(step.output_types[0].bytes()) /
                            (to_host ? catalogs_.to_host_bytes_per_second
                                     : catalogs_.from_host_bytes_per_second);
      return {};
    }
    const KernelCatalog& catalog = to_host ? *catalogs_.host : catalogs_.home;
    auto candidates = catalog.candidates(
        {step.op, step.input_types, step.output_types, &step.attrs});
    if (!candidates) {
      Error error = std::move(candidates).error();
      error.message = step.name + ": " + error.message;
      return error;
    }
    step.kernel = std::move(candidates->front());
    return {};
  }

  Status add_instruction(Instruction step) {
    PLIMSOLL_RETURN_IF_ERROR(choose_kernel(step));
    for (std::size_t i = 0; i < step.kernel.input_layouts.size(); ++i) {
      PLIMSOLL_RETURN_IF_ERROR(pack_input(step, i));
    }
    std::vector<Instruction> unpacking;
    for (std::size_t i = 0; i < step.kernel.output_layouts.size(); ++i) {
      if (step.kernel.output_layouts[i].is_packed()) {
        unpacking.push_back(unpack_output(step, i));
      }
    }
    append(std::move(step));
    for (Instruction& unpack : unpacking) {
      PLIMSOLL_RETURN_IF_ERROR(add_instruction(std::move(unpack)));
    }
    return {};
  }

  BufferId add_packed_buffer(const Instruction& step, const TensorType& type) {
    return add_buffer({step.name + "/packed", type.bytes(),
                       BufferKind::transient, step.phase, -1, false,
                       step.place});
  }

  // An instruction of the same phase and place as the one it serves.
  static Instruction beside(const Instruction& step, const OpDef* op,
                            Attrs attrs) {
    Instruction made;
    made.name = fmt::format("{}/{}", step.name, op->name);
    made.op = op;
    made.attrs = std::move(attrs);
    made.phase = step.phase;
    made.place = step.place;
    return made;
  }

  // The input in the layout that the kernel wants, packed once for all who
  // want these contents so in this phase: a copy must not live from forward
  // into backward.
  Status pack_input(Instruction& step, std::size_t at) {
    const Layout& layout = step.kernel.input_layouts[at];
    if (!layout.is_packed()) return {};
    Instruction pack = beside(step, ops_.pack, attrs_of(layout));
    const BufferId from = step.inputs[at];
    const auto key = std::make_tuple(from, history_[from.pos()].last_writer,
                                     step.phase, pack.attrs.to_string());
    if (const auto known = packed_.find(key); known != packed_.end()) {
      step.inputs[at] = known->second;
      return {};
    }
    const TensorType type{step.input_types[at].dtype, {layout.elements()}};
    pack.input_types = {step.input_types[at]};
    pack.output_types = {type};
    pack.inputs = {from};
    pack.outputs = {add_packed_buffer(step, type)};
    step.inputs[at] = packed_[key] = pack.outputs[0];
    return add_instruction(std::move(pack));
  }

  Instruction unpack_output(Instruction& step, std::size_t at) {
    const Layout& layout = step.kernel.output_layouts[at];
    Instruction unpack = beside(step, ops_.unpack, attrs_of(layout));
    unpack.attrs.set("shape", step.output_types[at].shape);
    const TensorType type{step.output_types[at].dtype, {layout.elements()}};
    unpack.input_types = {type};
    unpack.output_types = {step.output_types[at]};
    unpack.outputs = {step.outputs[at]};
    step.outputs[at] = add_packed_buffer(step, type);
    unpack.inputs = {step.outputs[at]};
    return unpack;
  }

  // What backward makes of forward's values alone is wanted late: no order may
  // run it before what stands in front of it.
  bool could_run_in_forward(const Instruction& step) const {
    if (step.phase != Phase::backward || program_.instructions.empty()) {
      return false;
    }
    return std::all_of(
        step.inputs.begin(), step.inputs.end(), [&](BufferId input) {
          const int writer = history_[input.pos()].last_writer;
          return writer < 0 ||
                 program_.instructions[static_cast<std::size_t>(writer)]
                         .phase == Phase::forward;
        });
  }

  void append(Instruction step) {
    const int index = static_cast<int>(program_.instructions.size());
    if (could_run_in_forward(step)) step.after.push_back(index - 1);
    for (const BufferId input : step.inputs) {
      BufferHistory& history = history_[input.pos()];
      if (history.last_writer >= 0) step.after.push_back(history.last_writer);
      history.readers_since.push_back(index);
    }
    for (const BufferId output : step.outputs) {
      BufferHistory& history = history_[output.pos()];
      if (history.last_writer >= 0) step.after.push_back(history.last_writer);
      for (const int reader : history.readers_since) {
        if (reader != index) step.after.push_back(reader);
      }
      history.last_writer = index;
      history.readers_since.clear();
    }
    std::sort(step.after.begin(), step.after.end());
    step.after.erase(std::unique(step.after.begin(), step.after.end()),
                     step.after.end());
    program_.instructions.push_back(std::move(step));
  }

  const Graph& graph_;
  const PlaceCatalogs& catalogs_;
  const StandardOps& ops_;
  LoweredGraph program_;
  std::vector<BufferId> buffer_of_;     // by value
  std::vector<int> last_reader_;        // by root value: node position
  std::vector<ValueId> assigned_to_;    // by value: the state it is written to
  std::vector<BufferHistory> history_;  // by buffer
  // By source, its last writer, phase and layout.
  std::map<std::tuple<BufferId, int, Phase, std::string>, BufferId> packed_;
};

}  // namespace

Result<LoweredGraph> lower(const Graph& graph, std::int64_t batch,
                           const PlaceCatalogs& catalogs,
                           const StandardOps& ops) {
  return Lowering(graph, batch, catalogs, ops).run();
}

bool LoweredGraph::is_mixed() const {
  return std::any_of(
      instructions.begin(), instructions.end(),
      [](const Instruction& step) { return step.runs_on_host(); });
}

std::string Instruction::kernel_identity() const {
  return fmt::format("{} {} {} {} {}", op->name, kernel.name, attrs.to_string(),
                     to_string(input_types), to_string(output_types));
}

std::uint64_t numerics_key(const LoweredGraph& program) {
  std::uint64_t key = stable_hash("numerics");
  for (const Instruction& step : program.instructions) {
    if (step.repeats) continue;
    key = stable_hash(fmt::format("{} {} {}", step.op->name, step.kernel.name,
                                  step.attrs.to_string()),
                      key);
    for (const TensorType& type : step.input_types) {
      key = stable_hash(type.to_string(), key);
    }
  }
  return key;
}

}  // namespace plimsoll::graph
