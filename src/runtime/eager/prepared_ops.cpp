#include "runtime/eager/prepared_ops.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

namespace plimsoll::runtime {
namespace {

using graph::TensorType;
using TypePointers = std::span<const TensorType* const>;

void mix(std::size_t& hash, std::size_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
  hash ^= hash >> 29;
}

std::size_t hash_of(const graph::OpDef& op, TypePointers inputs,
                    const graph::Attrs& attrs) {
  std::size_t hash = reinterpret_cast<std::size_t>(&op);
  for (const TensorType* type : inputs) {
    mix(hash, static_cast<std::size_t>(type->dtype) + 1);
    for (const Dim& dim : type->shape.dims()) {
      mix(hash, static_cast<std::size_t>(dim.size));
    }
  }
  // What often differs where all else is the same: the rest is compared.
  mix(hash, std::bit_cast<std::uint64_t>(attrs.get<double>("scalar")));
  mix(hash, static_cast<std::size_t>(attrs.get<std::int64_t>("seed")));
  for (const auto start : attrs.get<std::vector<std::int64_t>>("starts")) {
    mix(hash, static_cast<std::size_t>(start));
  }
  return hash;
}

bool matches(const PreparedOp& prepared, const graph::OpDef& op,
             TypePointers inputs, const graph::Attrs& attrs) {
  return prepared.op == &op &&
         std::equal(inputs.begin(), inputs.end(), prepared.inputs.begin(),
                    prepared.inputs.end(),
                    [](const TensorType* a, const TensorType& b) {
                      return *a == b;
                    }) &&
         prepared.attrs == attrs;
}

}  // namespace

Status check_bytes(const graph::TensorType& type) {
  PLIMSOLL_ASSIGN(const std::int64_t elements, type.shape.checked_elements(1));
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  if (elements <= kMost / size_of(type.dtype)) return {};
  return Error{ErrorCode::over_budget,
               fmt::format("{} is larger than any memory", type.to_string())};
}

Result<std::shared_ptr<const GradientRecipe>> PreparedOp::gradient_for(
    const std::vector<bool>& wanted, const std::vector<bool>& flowing) {
  for (const Known& known : recipes_) {
    if (known.wanted == wanted && known.flowing == flowing) return known.recipe;
  }
  PLIMSOLL_ASSIGN(auto made,
                  make_gradient_recipe(*op, attrs, inputs, wanted, flowing));
  recipes_.push_back({wanted, flowing,
                      std::make_shared<const GradientRecipe>(std::move(made))});
  return recipes_.back().recipe;
}

Result<std::shared_ptr<PreparedOp>> PreparedOps::find(
    const graph::OpDef& op, TypePointers inputs, const graph::Attrs& attrs) {
  const std::size_t hash = hash_of(op, inputs, attrs);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto found = first; found != last; ++found) {
    if (!matches(**found->second, op, inputs, attrs)) continue;
    if (found->second != by_use_.begin()) {
      by_use_.splice(by_use_.begin(), by_use_, found->second);
    }
    return *found->second;
  }
  PLIMSOLL_ASSIGN(auto made, make(op, inputs, attrs));
  ++made_;
  if (by_use_.size() == most_) drop(std::prev(by_use_.end()));
  by_use_.push_front(made);
  by_hash_.emplace(hash, by_use_.begin());
  return made;
}

Result<std::shared_ptr<PreparedOp>> PreparedOps::make(
    const graph::OpDef& op, TypePointers inputs, const graph::Attrs& attrs) {
  auto made = std::make_shared<PreparedOp>();
  made->op = &op;
  made->attrs = attrs;
  for (const TensorType* type : inputs) made->inputs.push_back(*type);
  PLIMSOLL_ASSIGN(made->outputs, op.infer(made->inputs, attrs));
  for (const TensorType& type : made->outputs) {
    PLIMSOLL_RETURN_IF_ERROR(check_bytes(type));
  }
  if (!op.is_view) PLIMSOLL_RETURN_IF_ERROR(prepare(*made));
  return made;
}

Status PreparedOps::prepare(PreparedOp& op) {
  const graph::KernelQuery query{op.op, op.inputs, op.outputs, &op.attrs};
  auto launch = backend_.prepare(query, *bytes_);
  if (!launch && launch.error().code == ErrorCode::over_budget &&
      held_bytes() > 0) {
    drop_all_but(nullptr);
    launch = backend_.prepare(query, *bytes_);
  }
  PLIMSOLL_ASSIGN(op.launch, std::move(launch));
  return {};
}

void PreparedOps::drop(ByUse::iterator op) {
  std::vector<const TensorType*> types;
  for (const TensorType& type : (*op)->inputs) types.push_back(&type);
  const auto [from, to] =
      by_hash_.equal_range(hash_of(*(*op)->op, types, (*op)->attrs));
  by_hash_.erase(std::find_if(
      from, to, [&](const auto& entry) { return entry.second == op; }));
  (*op)->launch.reset();
  by_use_.erase(op);
}

void PreparedOps::drop_all_but(const PreparedOp* kept) {
  for (auto op = by_use_.begin(); op != by_use_.end();) {
    const auto next = std::next(op);
    if (op->get() != kept) drop(op);
    op = next;
  }
}

void PreparedOps::close() noexcept {
  for (const auto& op : by_use_) op->launch.reset();
  by_hash_.clear();
  by_use_.clear();
  bytes_->close();
}

}  // namespace plimsoll::runtime
