#include "runtime/eager/eager.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/units.h"
#include "runtime/eager/host_backend.h"
#include "runtime/eager/owner_scope.h"

namespace plimsoll::runtime {
namespace {

using graph::TensorType;

// Loops over shapes that differ make kernels again and again; this many stay.
constexpr std::size_t kPreparedOps = 512;

ValuePtr view_of(const ValuePtr& of, const TensorType& type) {
  // The view's address is fixed.
  std::const_pointer_cast<Value>(of)->keep();
  auto value = std::make_shared<Value>();
  value->type = type;
  value->id = next_value_id();
  value->home = of->home;
  value->data = of->data;
  value->root = of->root ? of->root : of;
  value->trace = of->trace;
  value->symbol = of->symbol;
  return value;
}

}  // namespace

std::uint64_t next_value_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

Value::~Value() {
  if (block.data) home->give_back(block);
}

void Value::keep() noexcept {
  if (block.data == nullptr || data == block.data) return;
  std::memcpy(block.data, data, static_cast<std::size_t>(type.bytes()));
  data = block.data;
}

Eager::Eager(const EagerMachine& machine)
    : Eager(make_host_backend(machine.threads, machine.kernels, machine.memory),
            machine.ledger) {
  // Nothing is charged before the first value, so nothing is refused.
  if (machine.process_bytes > 0) {
    static_cast<void>(process_.add(
        {"process", Purpose::runtime, Space::host, machine.process_bytes}));
  }
}

Eager::Eager(std::unique_ptr<Backend> backend, Ledger& ledger)
    : ledger_(ledger),
      process_(ledger),
      backend_(std::move(backend)),
      pool_(backend_->memory(), ledger, backend_->space()),
      prepared_(*backend_, ledger, kPreparedOps) {}

void Eager::join(const std::shared_ptr<EagerUser>& user) {
  std::erase_if(users_, [](const auto& one) { return one.expired(); });
  users_.push_back(user);
}

void Eager::close() noexcept {
  if (closed()) return;
  for (const auto& user : users_) {
    if (const auto held = user.lock()) held->let_go();
  }
  users_.clear();
  prepared_.close();
  pool_.close();
  backend_->close();
  process_.release();
}

Status Eager::start() {
  PLIMSOLL_RETURN_IF_ERROR(process_.charge());
  if (open_) return {};
  if (Status opened = backend_->open(process_); !opened) {
    process_.release();
    return opened;
  }
  open_ = true;
  return {};
}

Status Eager::check_open() const {
  if (!closed()) return {};
  return Error{ErrorCode::bad_input,
               "the session of this tensor is closed: its memory is gone"};
}

Result<Block> Eager::allocate(std::int64_t bytes, std::int32_t owner,
                              const PreparedOp* running) {
  if (bytes == 0) return Block{};
  auto block = pool_.allocate(bytes, owner);
  if (block || block.error().code != ErrorCode::over_budget) return block;
  // A device that has failed has no memory either.
  PLIMSOLL_RETURN_IF_ERROR(backend_->check());
  const std::int64_t kernels = prepared_.held_bytes();
  const std::int64_t wanted =
      round_up(bytes, backend_->memory().granularity_bytes());
  if (kernels == 0 ||
      ledger_.room_bytes(backend_->space()) + kernels < wanted) {
    return block;
  }
  prepared_.drop_all_but(running);
  return pool_.allocate(bytes, owner);
}

Result<std::shared_ptr<Value>> Eager::make_for(const TensorType& type,
                                               const PreparedOp* running) {
  auto value = std::make_shared<Value>();
  // One without elements has an address too.
  const std::int64_t bytes = std::max<std::int64_t>(type.bytes(), 1);
  PLIMSOLL_ASSIGN(value->block,
                  allocate(bytes, current_owner(pool_, id_), running));
  value->home = shared_from_this();
  value->data = value->block.data;
  value->id = next_value_id();
  value->type = type;
  return value;
}

Status Eager::ensure_open() {
  PLIMSOLL_RETURN_IF_ERROR(check_open());
  if (!process_.charged()) PLIMSOLL_RETURN_IF_ERROR(start());
  return {};
}

Result<std::shared_ptr<Value>> Eager::make(const TensorType& type) {
  PLIMSOLL_RETURN_IF_ERROR(ensure_open());
  return make_for(type, nullptr);
}

Result<std::shared_ptr<Value>> Eager::copy(const Value& value) {
  PLIMSOLL_ASSIGN(auto made, make(value.type));
  PLIMSOLL_RETURN_IF_ERROR(
      backend_->copy(made->data, value.data, value.type.bytes()));
  return made;
}

Result<ValuePtr> Eager::from_bytes(TensorType type,
                                   std::span<const std::byte> bytes) {
  PLIMSOLL_ASSIGN(const auto value, make(type));
  // An empty array may have no address.
  if (!bytes.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(backend_->write(value->data, bytes));
  }
  return ValuePtr(value);
}

Result<std::shared_ptr<Value>> Eager::lend(const TensorType& type,
                                           std::span<const std::byte> bytes) {
  PLIMSOLL_ASSIGN(auto value, make(type));
  if (bytes.empty()) return value;
  if (backend_->space() == Space::host) {
    // Nobody writes there: what is written to is kept first.
    value->data = const_cast<std::byte*>(bytes.data());
  } else {
    PLIMSOLL_RETURN_IF_ERROR(backend_->write(value->data, bytes));
  }
  return value;
}

Result<ValuePtr> Eager::from_pieces(TensorType type, const Fill& fill) {
  PLIMSOLL_ASSIGN(const auto value, make(type));
  PLIMSOLL_RETURN_IF_ERROR(backend_->fill(value->data, type.bytes(), fill));
  return ValuePtr(value);
}

Status Eager::read(const Value& value, std::span<std::byte> to) {
  PLIMSOLL_RETURN_IF_ERROR(check_open());
  return backend_->read(to, value.data);
}

Result<std::shared_ptr<PreparedOp>> Eager::find(
    const graph::OpDef& op, std::span<const ValuePtr> inputs,
    const graph::Attrs& attrs) {
  std::vector<const TensorType*> types(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]->home.get() != this) {
      return Error{ErrorCode::bad_input,
                   fmt::format("{}: operand {} belongs to another session",
                               op.name, i + 1)};
    }
    types[i] = &inputs[i]->type;
  }
  return prepared_.find(op, types, attrs);
}

Status Eager::prepare(const graph::OpDef& op, std::span<const ValuePtr> inputs,
                      const graph::Attrs& attrs) {
  PLIMSOLL_RETURN_IF_ERROR(ensure_open());
  PLIMSOLL_RETURN_IF_ERROR(find(op, inputs, attrs));
  return {};
}

Result<Values> Eager::apply(const graph::OpDef& op,
                            std::span<const ValuePtr> inputs,
                            const graph::Attrs& attrs,
                            std::shared_ptr<PreparedOp>& prepared,
                            std::span<const std::shared_ptr<Value>> into) {
  if (closed()) return check_open().error();
  if (!process_.charged()) PLIMSOLL_RETURN_IF_ERROR(start());
  PLIMSOLL_ASSIGN(prepared, find(op, inputs, attrs));
  std::vector<const void*> from(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) from[i] = inputs[i]->data;
  if (op.is_view) return Values{view_of(inputs[0], prepared->outputs[0])};

  Values outputs;
  std::vector<void*> to;
  for (const TensorType& type : prepared->outputs) {
    std::shared_ptr<Value> value =
        into.empty() ? nullptr : into[outputs.size()];
    if (value == nullptr) {
      PLIMSOLL_ASSIGN(value, make_for(type, prepared.get()));
    }
    to.push_back(value->data);
    outputs.push_back(std::move(value));
  }
  PLIMSOLL_ASSIGN(const Block block, allocate(prepared->launch->scratch_bytes(),
                                              0, prepared.get()));
  const HeldBlock scratch(pool_, block);
  auto launched =
      prepared->launch->launch({from.data(), to.data(), scratch.data()});
  if (!launched) {
    Error error = std::move(launched).error();
    error.message =
        fmt::format("{}({}): {}", op.name, graph::to_string(prepared->inputs),
                    error.message);
    return error;
  }
  return outputs;
}

ValuePtr same_bytes(const ValuePtr& value) {
  return view_of(value, value->type);
}

}  // namespace plimsoll::runtime
