#include "plan/random_program.h"

#include <algorithm>

namespace plimsoll::plan::testing {

using graph::BufferId;
using graph::Phase;

namespace {
const graph::OpDef& any_op() {
  static const graph::OpDef op = [] {
    graph::OpDef made;
    made.name = "any";
    return made;
  }();
  return op;
}
}  // namespace

std::uint64_t Random::next() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::int64_t Random::between(std::int64_t low, std::int64_t high) {
  const auto width = static_cast<std::uint64_t>(high - low) + 1;
  return low + static_cast<std::int64_t>(next() % width);
}

BufferId ProgramBuilder::buffer(std::string name, std::int64_t bytes,
                                Phase phase) {
  graph::Buffer made;
  made.name = std::move(name);
  made.bytes = bytes;
  made.phase = phase;
  program.buffers.push_back(std::move(made));
  return BufferId(program.buffers.size() - 1);
}

BufferId ProgramBuilder::input(std::string name, std::int64_t bytes) {
  const BufferId id = buffer(std::move(name), bytes);
  program.buffers[id.pos()].kind = graph::BufferKind::input;
  program.buffers[id.pos()].index = static_cast<int>(program.inputs.size());
  program.inputs.push_back(id);
  return id;
}

BufferId ProgramBuilder::state(std::string name, std::int64_t bytes) {
  const BufferId id = buffer(std::move(name), bytes);
  program.buffers[id.pos()].kind = graph::BufferKind::state;
  program.buffers[id.pos()].index = static_cast<int>(program.states.size());
  program.states.push_back(id);
  return id;
}

BufferId ProgramBuilder::output(std::string name, std::int64_t bytes) {
  const BufferId id = buffer(std::move(name), bytes);
  program.buffers[id.pos()].output = true;
  program.outputs.push_back(id);
  return id;
}

int ProgramBuilder::run(std::string name,
                        std::initializer_list<BufferId> inputs,
                        std::initializer_list<BufferId> outputs, Phase phase,
                        std::int64_t scratch_bytes) {
  return run(std::move(name), std::vector<BufferId>(inputs),
             std::vector<BufferId>(outputs), phase, scratch_bytes);
}

int ProgramBuilder::run(std::string name, std::vector<BufferId> inputs,
                        std::vector<BufferId> outputs, Phase phase,
                        std::int64_t scratch_bytes) {
  graph::Instruction made;
  made.name = std::move(name);
  made.op = &any_op();
  made.phase = phase;
  made.kernel.scratch_bytes = scratch_bytes;
  made.kernel.seconds = 1e-6;
  const auto touches = [](const std::vector<BufferId>& list, BufferId id) {
    return std::find(list.begin(), list.end(), id) != list.end();
  };
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const graph::Instruction& earlier = program.instructions[i];
    bool depends = false;
    for (const BufferId id : inputs) depends |= touches(earlier.outputs, id);
    for (const BufferId id : outputs) {
      depends |= touches(earlier.inputs, id) || touches(earlier.outputs, id);
    }
    if (depends) made.after.push_back(static_cast<int>(i));
  }
  made.inputs = std::move(inputs);
  made.outputs = std::move(outputs);
  program.instructions.push_back(std::move(made));
  return static_cast<int>(program.instructions.size()) - 1;
}

namespace {

// Small and large sizes are equally likely, as in networks.
std::int64_t random_bytes(Random& random) {
  const std::int64_t most = std::int64_t{1} << random.between(0, 26);
  return random.between(std::max<std::int64_t>(1, most / 2), most);
}

std::int64_t random_scratch(Random& random) {
  return random.chance(30) ? random_bytes(random) : 0;
}

struct Layer {
  std::vector<BufferId> inputs;
  BufferId output;
  BufferId parameter;  // invalid: none
};

}  // namespace

graph::LoweredGraph random_program(std::uint64_t seed) {
  Random random(seed);
  ProgramBuilder build;
  build.program.batch = random.between(1, 4096);
  std::vector<BufferId> values{build.input("x", random_bytes(random))};
  std::vector<Layer> layers;
  const std::int64_t count = random.between(3, 60);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string name = "layer_" + std::to_string(i);
    Layer layer;
    const auto last = static_cast<std::int64_t>(values.size()) - 1;
    layer.inputs.push_back(values.back());
    while (random.chance(25)) {  // a branch from further up
      const std::int64_t up =
          random.between(std::max<std::int64_t>(0, last - 9), last);
      layer.inputs.push_back(values[static_cast<std::size_t>(up)]);
    }
    if (random.chance(60)) {
      layer.parameter = build.state(name + "/w", random_bytes(random));
    }
    layer.output = build.buffer(name, random_bytes(random));
    std::vector<BufferId> reads = layer.inputs;
    if (layer.parameter.valid()) reads.push_back(layer.parameter);
    build.run(name, reads, {layer.output}, Phase::forward,
              random_scratch(random));
    values.push_back(layer.output);
    layers.push_back(layer);
  }
  const BufferId loss = build.output("loss", 4);
  build.run("loss", {values.back()}, {loss}, Phase::forward, 0);
  if (random.chance(20)) {  // an evaluation has no backward pass
    return build.program;
  }

  std::vector<BufferId> gradient_of(build.program.buffers.size() +
                                    layers.size() * 4);
  const auto make_gradient = [&](BufferId of, const std::string& name) {
    return build.buffer(name, build.program.buffer(of).bytes, Phase::backward);
  };
  gradient_of[values.back().pos()] = make_gradient(values.back(), "d_loss");
  build.run("d_loss", {values.back()}, {gradient_of[values.back().pos()]},
            Phase::backward, 0);
  std::vector<std::pair<BufferId, BufferId>> updates;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    const std::string name = "d_" + build.program.buffer(layer->output).name;
    const BufferId incoming = gradient_of[layer->output.pos()];
    if (!incoming.valid()) continue;
    for (const BufferId in : layer->inputs) {
      if (build.program.buffer(in).kind == graph::BufferKind::input) continue;
      BufferId& gradient = gradient_of[in.pos()];
      if (gradient.valid()) {  // adds in place to what is there
        build.run(name + "/add", {incoming, gradient, in}, {gradient},
                  Phase::backward, random_scratch(random));
      } else {
        const BufferId made = make_gradient(in, name);
        build.run(name, {incoming, in}, {made}, Phase::backward,
                  random_scratch(random));
        gradient = made;
      }
    }
    if (layer->parameter.valid()) {
      const BufferId made = make_gradient(layer->parameter, name + "/w");
      build.run(name + "/w", {incoming, layer->inputs.front()}, {made},
                Phase::backward, random_scratch(random));
      updates.emplace_back(layer->parameter, made);
    }
  }
  std::reverse(updates.begin(), updates.end());
  for (const auto& [parameter, gradient] : updates) {
    build.run("update " + build.program.buffer(parameter).name,
              {parameter, gradient}, {parameter}, Phase::update, 0);
  }
  return build.program;
}

}  // namespace plimsoll::plan::testing
