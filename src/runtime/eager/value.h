// What a tensor's handle points to: a value in memory.
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

  Value() = default;
  ~Value();  // gives the block back
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
};

using Values = std::vector<ValuePtr>;

}  // namespace plimsoll::runtime
