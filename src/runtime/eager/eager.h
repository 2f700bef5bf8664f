// Runs ops at once, on the machine of one session.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "device/cpu/compute_threads.h"
#include "graph/builder.h"
#include "runtime/eager/prepared_ops.h"
#include "runtime/eager/value.h"

namespace plimsoll::runtime {

// What an eager session stands on; all of it outlives close().
struct EagerMachine {
  ComputeThreads& threads;
  const ops::KernelFactory& kernels;
  MemorySource& memory;
  Ledger& ledger;
  // What the process takes without any value, charged with the first one.
  std::int64_t process_bytes = 0;
};

// Holds what stands on an eager session until that is closed.
class EagerUser {
 public:
  virtual ~EagerUser() = default;
  virtual void let_go() noexcept = 0;
};

// For one thread at a time; values may go on any.
class Eager : public std::enable_shared_from_this<Eager> {
 public:
  explicit Eager(const EagerMachine& machine);

  // Gives all memory back. Values that are still out there stay as they are but
  // their bytes: whoever asks for those is told.
  void close() noexcept;
  bool closed() const { return pool_.closed(); }
  Status check_open() const;

  // The op's outputs. Errors name the op, the shapes and what was expected, or
  // carry the ledger where memory runs out; nothing is then held.
  // `prepared` is set to what ran. Values in `into`, where it is not empty, are
  // written to instead of new ones, by output; null: a new one.
  Result<Values> apply(const graph::OpDef& op, std::span<const ValuePtr> inputs,
                       const graph::Attrs& attrs,
                       std::shared_ptr<PreparedOp>& prepared,
                       std::span<const std::shared_ptr<Value>> into = {});
  // A value to be filled by whoever made it.
  Result<std::shared_ptr<Value>> make(graph::TensorType type);
  // The bytes of an array of the caller's, copied.
  Result<ValuePtr> from_bytes(graph::TensorType type,
                              std::span<const std::byte> bytes);

  // Told when the session is closed.
  void join(const std::shared_ptr<EagerUser>& user);

  void give_back(const Block& block) noexcept { pool_.release(block); }
  // The process's own bytes, as far as they are charged here. A job charges
  // them itself: until the next value they are its.
  std::int64_t process_held_bytes() const {
    return process_charged_ ? process_bytes_ : 0;
  }
  void release_process() noexcept;
  ComputeThreads& threads() { return threads_; }
  const ops::KernelFactory& kernels() const { return kernels_; }
  Ledger& ledger() { return ledger_; }
  ValuePool& pool() { return pool_; }
  const ValuePool& pool() const { return pool_; }
  const PreparedOps& prepared() const { return prepared_; }

 private:
  Status charge_process();

  ComputeThreads& threads_;
  const ops::KernelFactory& kernels_;
  Ledger& ledger_;
  std::int64_t process_bytes_;
  LedgerEntry process_;
  bool process_charged_ = false;
  ValuePool pool_;
  PreparedOps prepared_;
  std::vector<std::weak_ptr<EagerUser>> users_;
  const std::uint64_t id_ = next_value_id();
};

// Another value over the same memory: no tape takes it for the first.
ValuePtr same_bytes(const ValuePtr& value);

}  // namespace plimsoll::runtime
