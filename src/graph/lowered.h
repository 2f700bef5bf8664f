// A program with every choice made that decides its numbers: fixed shapes,
// kernels, aliases. Plain values; the planner decides order and addresses.
#pragma once

#include <string>
#include <vector>

#include "graph/kernel_catalog.h"
#include "graph/standard_ops.h"

namespace plimsoll::graph {

using BufferId = Id<struct BufferTag>;

enum class BufferKind : std::uint8_t { input, state, transient };

struct Buffer {
  std::string name;
  std::int64_t bytes = 0;
  BufferKind kind = BufferKind::transient;
  Phase phase = Phase::forward;  // of the node that first writes it
  int index = -1;                // which input or state of the program it is
  bool output = false;  // read by the host after the program: lives to the end
  Place place = Place::home;  // of states and transient buffers
};

struct Instruction {
  std::string name;  // "dense_1/matmul"
  const OpDef* op = nullptr;
  Attrs attrs;            // fixed shapes
  TypeList input_types;   // fixed shapes
  TypeList output_types;  // fixed shapes
  std::vector<BufferId> inputs;
  std::vector<BufferId> outputs;
  KernelCandidate kernel;
  Phase phase = Phase::forward;
  Place place = Place::home;  // of its outputs and scratch
  bool transfer = false;      // reads at the other place; no kernel runs
  bool repeats = false;       // makes again what was not kept
  // Indices of instructions that must have run: producers of what is read,
  // and earlier readers of what is overwritten in place.
  std::vector<int> after;

  // The same for instructions that one kernel can serve, one after the other.
  std::string kernel_identity() const;
  // Transfers are the device's, in both directions.
  bool runs_on_host() const { return place == Place::host && !transfer; }
};

struct LoweredGraph {
  std::int64_t batch = 0;
  std::vector<Buffer> buffers;
  std::vector<Instruction> instructions;  // in a valid order
  std::vector<BufferId> inputs;           // by input index
  std::vector<BufferId> states;           // by state index
  std::vector<BufferId> outputs;          // by output index

  const Buffer& buffer(BufferId id) const { return buffers[id.pos()]; }
  // Whether anything runs on the host beside a device.
  bool is_mixed() const;
};

// Asks the catalogue of its place for the cheapest kernel of each node at
// `batch`, decides views and in-place updates. Errors name the node.
Result<LoweredGraph> lower(const Graph& graph, std::int64_t batch,
                           const PlaceCatalogs& catalogs,
                           const StandardOps& ops);

// Everything that decides rounding, hashed: kernels, fusion groups, layouts,
// precision, in graph order. Order, addresses, budgets and what is made again
// do not enter.
std::uint64_t numerics_key(const LoweredGraph& program);

}  // namespace plimsoll::graph
