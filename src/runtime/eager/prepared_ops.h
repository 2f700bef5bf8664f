// Kernels of eager ops, made once for each op, attributes and operand types,
// and kept while they are used: a loop over the same shapes makes none.
#pragma once

#include <list>
#include <memory>
#include <span>
#include <unordered_map>

#include "runtime/eager/backend.h"
#include "runtime/eager/gradient_recipe.h"

namespace plimsoll::runtime {

struct PreparedOp {
  const graph::OpDef* op = nullptr;
  graph::Attrs attrs;
  graph::TypeList inputs;
  graph::TypeList outputs;
  // Null for views, and once it is no longer kept: tapes need the rest alone.
  std::unique_ptr<PreparedLaunch> launch;

  // For inputs that are `wanted` and outputs at which gradients arrive; made
  // when it is first asked for. Not for two threads at once.
  Result<std::shared_ptr<const GradientRecipe>> gradient_for(
      const std::vector<bool>& wanted, const std::vector<bool>& flowing);

 private:
  struct Known {
    std::vector<bool> wanted, flowing;
    std::shared_ptr<const GradientRecipe> recipe;
  };
  std::vector<Known> recipes_;
};

// Whether its bytes can be counted at all.
Status check_bytes(const graph::TensorType& type);

class PreparedOps {
 public:
  // The least used of more than `most` go.
  PreparedOps(Backend& backend, Ledger& ledger, std::size_t most)
      : backend_(backend),
        bytes_(std::make_shared<KernelBytes>(ledger, backend.space())),
        most_(most) {}

  // Errors name the op, the shapes and what was expected. `inputs` point to the
  // operands' types. Where memory for a kernel runs out, others go first.
  Result<std::shared_ptr<PreparedOp>> find(
      const graph::OpDef& op, std::span<const graph::TensorType* const> inputs,
      const graph::Attrs& attrs);

  std::int64_t made() const { return made_; }  // ever
  std::size_t size() const { return by_use_.size(); }
  KernelBytes& bytes() { return *bytes_; }
  // What kernels hold for themselves.
  std::int64_t held_bytes() const { return bytes_->held_bytes(); }
  // Drops all but one; the next ops make theirs again.
  void drop_all_but(const PreparedOp* kept);
  void close() noexcept;

 private:
  using ByUse = std::list<std::shared_ptr<PreparedOp>>;

  Result<std::shared_ptr<PreparedOp>> make(
      const graph::OpDef& op, std::span<const graph::TensorType* const> inputs,
      const graph::Attrs& attrs);
  Status prepare(PreparedOp& op);
  void drop(ByUse::iterator op);

  Backend& backend_;
  std::shared_ptr<KernelBytes> bytes_;
  const std::size_t most_;
  ByUse by_use_;  // the last used first
  std::unordered_multimap<std::size_t, ByUse::iterator> by_hash_;
  std::int64_t made_ = 0;
};

}  // namespace plimsoll::runtime
