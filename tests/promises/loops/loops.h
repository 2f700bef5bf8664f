// Loops by hand that run for long, to be measured from outside.
#pragma once

#include <cstdint>
#include <functional>

#include "plimsoll/plimsoll.h"

namespace plimsoll::loops {

using Body = std::function<void(std::int64_t turn)>;

struct Loop {
  const char* name;
  // Makes what the loop works on, which its body then holds. `size` is the
  // user's, 0 where nothing was said.
  std::function<Body(Session& session, std::int64_t size)> start;
  // Plans leave a heap whose free lists wander: they are given back before
  // somebody looks.
  bool plans = false;
};

// One op each turn, of mixed kinds and shapes; some do not fit and are caught.
Body start_ops(Session& session, std::int64_t size);
// Ops whose results have random sizes and live for a while. Throws where more
// is held than a tenth above the most that was alive.
Body start_sizes(Session& session, std::int64_t size);
// x = x w with another w each turn; x has `size` rows.
Body start_products(Session& session, std::int64_t size);

// One tape each turn: asked once, twice, never, nested, out of memory.
Body start_tapes(Session& session, std::int64_t size);

// A traced step for arguments of another shape each turn: more than are kept.
Body start_functions(Session& session, std::int64_t size);

// One model, fitted each turn.
Body start_fit(Session& session, std::int64_t size);
// Another model each turn.
Body start_models(Session& session, std::int64_t size);

// What tensors and jobs hold by the session's own account, without what is
// free.
std::int64_t live_bytes(const Session& session);
// With it, without the process.
std::int64_t held_bytes(const Session& session);
// With both. None of them counts kernels.
std::int64_t all_bytes(const Session& session);

}  // namespace plimsoll::loops
