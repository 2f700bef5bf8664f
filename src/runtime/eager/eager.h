// Runs ops at once, on the machine of one session.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>

#include "device/cpu/compute_threads.h"
#include "graph/builder.h"
#include "runtime/eager/backend.h"
#include "runtime/eager/prepared_ops.h"
#include "runtime/eager/value.h"

namespace plimsoll::runtime {

// What an eager session on the host stands on; all of it outlives close().
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
  // On a device. The ledger outlives close().
  Eager(std::unique_ptr<Backend> backend, Ledger& ledger);

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
  // Makes the op's kernel, unless it is there.
  Status prepare(const graph::OpDef& op, std::span<const ValuePtr> inputs,
                 const graph::Attrs& attrs);
  // A block of the pool, none for 0 bytes. Over the limit kernels go before it
  // is an error, all but one's.
  Result<Block> allocate(std::int64_t bytes, std::int32_t owner,
                         const PreparedOp* running = nullptr);
  // A value to be filled by whoever made it, on the host.
  Result<std::shared_ptr<Value>> make(const graph::TensorType& type);
  // Another with the same bytes and memory of its own.
  Result<std::shared_ptr<Value>> copy(const Value& value);
  // The bytes of an array of the caller's, copied.
  Result<ValuePtr> from_bytes(graph::TensorType type,
                              std::span<const std::byte> bytes);
  // The same; on the host they are read where they lie until Value::keep(),
  // for which memory is taken here. Who lends calls it before they go.
  Result<std::shared_ptr<Value>> lend(const graph::TensorType& type,
                                      std::span<const std::byte> bytes);
  // As from_bytes(), of numbers that are made piece by piece, in order.
  Result<ValuePtr> from_pieces(graph::TensorType type, const Fill& fill);
  // Bytes of this session's memory, in order with all else.
  Status copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
    return backend_->copy(to, from, bytes);
  }
  // Copies the value's bytes, once all ops before have run.
  Status read(const Value& value, std::span<std::byte> to);

  // Told when the session is closed.
  void join(const std::shared_ptr<EagerUser>& user);

  void give_back(const Block& block) noexcept { pool_.release(block); }
  // The process's own bytes, as far as they are charged here. A job charges
  // them itself: until the next value they are its.
  std::int64_t process_held_bytes(Space space) const {
    return process_.held_bytes(space);
  }
  void release_process() noexcept { process_.release(); }
  // Opens it, as a first value would, and has the process charged.
  Status ensure_open();
  Ledger& ledger() { return ledger_; }
  Backend& backend() { return *backend_; }
  KernelBytes& kernel_bytes() { return prepared_.bytes(); }
  ValuePool& pool() { return pool_; }
  const ValuePool& pool() const { return pool_; }
  const PreparedOps& prepared() const { return prepared_; }

 private:
  // The first value opens the device, and has the process charged.
  Status start();
  Result<std::shared_ptr<PreparedOp>> find(const graph::OpDef& op,
                                           std::span<const ValuePtr> inputs,
                                           const graph::Attrs& attrs);
  // Without a look at whether that is done.
  Result<std::shared_ptr<Value>> make_for(const graph::TensorType& type,
                                          const PreparedOp* running);

  Ledger& ledger_;
  ProcessBytes process_;
  std::unique_ptr<Backend> backend_;
  bool open_ = false;
  ValuePool pool_;
  PreparedOps prepared_;
  std::vector<std::weak_ptr<EagerUser>> users_;
  const std::uint64_t id_ = next_value_id();
};

// Another value over the same memory: no tape takes it for the first.
ValuePtr same_bytes(const ValuePtr& value);

}  // namespace plimsoll::runtime
