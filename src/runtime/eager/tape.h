// Remembers what was done to the values it watches, for their gradients: of
// each op only what its gradient reads.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "runtime/eager/eager.h"

namespace plimsoll::runtime {

class Tape {
 public:
  void watch(const ValuePtr& value) { known_.insert(value->id); }
  bool knows(const Value& value) const { return known_.contains(value.id); }

  // A variable's value was read: what moves it moves the variable.
  void read(std::uint64_t variable, const ValuePtr& value);
  // The values that were read of it.
  std::vector<std::uint64_t> reads_of(std::uint64_t variable) const;

  void record(const std::shared_ptr<PreparedOp>& op,
              std::span<const ValuePtr> inputs,
              std::span<const ValuePtr> outputs);

  // Gradients of `target` for each source, a value's number, null where it does
  // not depend on it. `seed` is the gradient of the target itself; null: ones.
  // Unless the tape is to be kept, it is empty afterwards, and memory goes back
  // on the way. An op without a gradient is an error that names it.
  Result<Values> gradient(const ValuePtr& target, const ValuePtr& seed,
                          std::span<const std::uint64_t> sources, bool keep);

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::shared_ptr<PreparedOp> op;
    std::vector<std::uint64_t> input_ids;
    std::vector<std::uint64_t> output_ids;
    Values inputs;   // null: not read
    Values outputs;  // likewise
  };
  using Flows = std::unordered_map<std::uint64_t, ValuePtr>;

  Status step_back(const Entry& entry,
                   const std::unordered_set<std::uint64_t>& relevant,
                   Flows& flows, const std::unordered_set<std::uint64_t>& kept);

  std::unordered_set<std::uint64_t> known_;
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> reads_;
  std::vector<Entry> entries_;
};

}  // namespace plimsoll::runtime
