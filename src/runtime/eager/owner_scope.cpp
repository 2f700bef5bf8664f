#include "runtime/eager/owner_scope.h"

#include "plimsoll/scope.h"

namespace plimsoll {
namespace runtime {

OwnerScope*& current_scope() {
  thread_local OwnerScope* scope = nullptr;
  return scope;
}

std::int32_t current_owner(ValuePool& pool, std::uint64_t pool_id) {
  OwnerScope* const scope = current_scope();
  if (scope == nullptr) return 0;
  if (scope->pool_id != pool_id) {
    scope->number = pool.owner(scope->name);
    scope->pool_id = pool_id;
  }
  return scope->number;
}

}  // namespace runtime

Scope::Scope(const std::string& name)
    : scope_(std::make_unique<runtime::OwnerScope>()) {
  runtime::OwnerScope*& innermost = runtime::current_scope();
  scope_->name = innermost ? innermost->name + "/" + name : name;
  scope_->outer = innermost;
  innermost = scope_.get();
}

Scope::~Scope() { runtime::current_scope() = scope_->outer; }

}  // namespace plimsoll
