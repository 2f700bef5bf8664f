#include "runtime/eager/eager.h"

#include <fmt/core.h>

#include <cstring>

#include "runtime/eager/owner_scope.h"

namespace plimsoll::runtime {
namespace {

using graph::TensorType;

// Loops over shapes that differ make kernels again and again; this many stay.
constexpr std::size_t kPreparedOps = 512;

ValuePtr view_of(const ValuePtr& of, const TensorType& type) {
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

// Memory for one launch.
class Scratch {
 public:
  explicit Scratch(ValuePool& pool) : pool_(pool) {}
  ~Scratch() {
    if (block_.data) pool_.release(block_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  Status take(std::int64_t bytes) {
    if (bytes == 0) return {};
    PLIMSOLL_ASSIGN(block_, pool_.allocate(bytes));
    return {};
  }
  void* data() const { return block_.data; }

 private:
  ValuePool& pool_;
  Block block_;
};

}  // namespace

std::uint64_t next_value_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

Value::~Value() {
  if (block.data) home->give_back(block);
}

Eager::Eager(const EagerMachine& machine)
    : threads_(machine.threads),
      kernels_(machine.kernels),
      ledger_(machine.ledger),
      process_bytes_(machine.process_bytes),
      pool_(machine.memory, machine.ledger),
      prepared_(machine.kernels, kPreparedOps) {}

void Eager::join(const std::shared_ptr<EagerUser>& user) {
  std::erase_if(users_, [](const auto& one) { return one.expired(); });
  users_.push_back(user);
}

void Eager::close() noexcept {
  for (const auto& user : users_) {
    if (const auto held = user.lock()) held->let_go();
  }
  users_.clear();
  prepared_.clear();
  pool_.close();
  release_process();
}

void Eager::release_process() noexcept {
  process_.release();
  process_charged_ = false;
}

Status Eager::charge_process() {
  if (process_bytes_ == 0 || process_charged_) return {};
  PLIMSOLL_ASSIGN(process_, ledger_.charge({"process", Purpose::runtime,
                                            Space::host, process_bytes_}));
  process_charged_ = true;
  return {};
}

Status Eager::check_open() const {
  if (!closed()) return {};
  return Error{ErrorCode::bad_input,
               "the session of this tensor is closed: its memory is gone"};
}

Result<std::shared_ptr<Value>> Eager::make(TensorType type) {
  PLIMSOLL_RETURN_IF_ERROR(check_open());
  PLIMSOLL_RETURN_IF_ERROR(charge_process());
  auto value = std::make_shared<Value>();
  PLIMSOLL_ASSIGN(value->block,
                  pool_.allocate(type.bytes(), current_owner(pool_, id_)));
  value->home = shared_from_this();
  value->data = value->block.data;
  value->id = next_value_id();
  value->type = std::move(type);
  return value;
}

Result<ValuePtr> Eager::from_bytes(TensorType type,
                                   std::span<const std::byte> bytes) {
  PLIMSOLL_ASSIGN(const auto value, make(std::move(type)));
  std::memcpy(value->data, bytes.data(), bytes.size());
  return ValuePtr(value);
}

Result<Values> Eager::apply(const graph::OpDef& op,
                            std::span<const ValuePtr> inputs,
                            const graph::Attrs& attrs,
                            std::shared_ptr<PreparedOp>& prepared,
                            std::span<const std::shared_ptr<Value>> into) {
  PLIMSOLL_RETURN_IF_ERROR(check_open());
  std::vector<const TensorType*> types(inputs.size());
  std::vector<const void*> from(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]->home.get() != this) {
      return Error{ErrorCode::bad_input,
                   fmt::format("{}: operand {} belongs to another session",
                               op.name, i + 1)};
    }
    types[i] = &inputs[i]->type;
    from[i] = inputs[i]->data;
  }
  PLIMSOLL_ASSIGN(prepared, prepared_.find(op, types, attrs));
  if (op.is_view) return Values{view_of(inputs[0], prepared->outputs[0])};

  Values outputs;
  std::vector<void*> to;
  for (const TensorType& type : prepared->outputs) {
    std::shared_ptr<Value> value =
        into.empty() ? nullptr : into[outputs.size()];
    if (value == nullptr) {
      PLIMSOLL_ASSIGN(value, make(type));
    }
    to.push_back(value->data);
    outputs.push_back(std::move(value));
  }
  Scratch scratch(pool_);
  PLIMSOLL_RETURN_IF_ERROR(scratch.take(prepared->scratch_bytes));
  const ops::LaunchArgs args{from.data(), to.data(), scratch.data()};
  auto status = ops::LaunchStatus::ok;
  // Small work stays on this thread; joining the others takes longer.
  if (prepared->shares) {
    threads_.enter([&] { status = prepared->kernel->launch(args); });
  } else {
    status = prepared->kernel->launch(args);
  }
  if (status != ops::LaunchStatus::ok) {
    return Error{ErrorCode::device,
                 fmt::format("{}({}) failed", op.name,
                             graph::to_string(prepared->inputs))};
  }
  return outputs;
}

ValuePtr same_bytes(const ValuePtr& value) {
  return view_of(value, value->type);
}

}  // namespace plimsoll::runtime
