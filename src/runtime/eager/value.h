// What a tensor's handle points to: a value in memory, or, while a function is
// traced, a value of its graph.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "graph/op_def.h"
#include "runtime/eager/value_pool.h"

namespace plimsoll::runtime {

class Eager;

struct Value;
using ValuePtr = std::shared_ptr<const Value>;

struct Value {
  graph::TensorType type;  // fixed
  std::uint64_t id = 0;    // never used twice: tapes know values by it
  std::shared_ptr<Eager> home;
  std::byte* data = nullptr;
  Block block;    // of a value with memory of its own
  ValuePtr root;  // of a view: whose memory it is
  // Of a value without memory: the trace that it belongs to, by a number that
  // is never used twice, and its place in the graph.
  std::uint64_t trace = 0;
  graph::ValueId symbol;

  Value() = default;
  ~Value();  // gives the block back
  // A lent value (Eager::lend) gets its bytes into its block; others stay as
  // they are. Before it has a view, is written to, or the lender's memory goes.
  void keep() noexcept;
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
};

using Values = std::vector<ValuePtr>;

// A number for a value, never used twice.
std::uint64_t next_value_id();

}  // namespace plimsoll::runtime
