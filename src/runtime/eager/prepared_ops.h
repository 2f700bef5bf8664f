// Kernels of eager ops, made once for each op, attributes and operand types,
// and kept while they are used: a loop over the same shapes makes none.
#pragma once

#include <list>
#include <memory>
#include <span>
#include <unordered_map>

#include "ops/kernel.h"
#include "runtime/eager/gradient_recipe.h"

namespace plimsoll::runtime {

// Work that takes longer is shared by threads; joining them takes about as
// long.
inline constexpr double kSharedSeconds = 5e-6;

struct PreparedOp {
  const graph::OpDef* op = nullptr;
  graph::Attrs attrs;
  graph::TypeList inputs;
  graph::TypeList outputs;
  std::int64_t scratch_bytes = 0;
  bool shares = false;                  // large enough for several threads
  std::unique_ptr<ops::Kernel> kernel;  // null for views

  // Made when it is first asked for. Not for two threads at once.
  Result<std::shared_ptr<const GradientRecipe>> gradient_for(
      const std::vector<bool>& wanted);

 private:
  std::vector<
      std::pair<std::vector<bool>, std::shared_ptr<const GradientRecipe>>>
      recipes_;
};

// Whether its bytes can be counted at all.
Status check_bytes(const graph::TensorType& type);

class PreparedOps {
 public:
  // The least used of more than `most` go.
  PreparedOps(const ops::KernelFactory& kernels, std::size_t most)
      : kernels_(kernels), most_(most) {}

  // Errors name the op, the shapes and what was expected. `inputs` point to the
  // operands' types.
  Result<std::shared_ptr<PreparedOp>> find(
      const graph::OpDef& op, std::span<const graph::TensorType* const> inputs,
      const graph::Attrs& attrs);

  std::int64_t made() const { return made_; }  // ever
  std::size_t size() const { return by_use_.size(); }
  void clear();

 private:
  using ByUse = std::list<std::shared_ptr<PreparedOp>>;

  Result<std::shared_ptr<PreparedOp>> make(
      const graph::OpDef& op, std::span<const graph::TensorType* const> inputs,
      const graph::Attrs& attrs) const;

  const ops::KernelFactory& kernels_;
  const std::size_t most_;
  ByUse by_use_;  // the last used first
  std::unordered_multimap<std::size_t, ByUse::iterator> by_hash_;
  std::int64_t made_ = 0;
};

}  // namespace plimsoll::runtime
