// Under which name this thread's tensors are held.
#pragma once

#include <string>

#include "runtime/eager/value_pool.h"

namespace plimsoll::runtime {

struct OwnerScope {
  std::string name;
  OwnerScope* outer = nullptr;
  std::uint64_t pool_id = 0;  // of the pool that was asked last
  std::int32_t number = 0;
};

// The innermost; null: none.
OwnerScope*& current_scope();

// Its number in a pool, which has an id that is never used twice.
std::int32_t current_owner(ValuePool& pool, std::uint64_t pool_id);

}  // namespace plimsoll::runtime
