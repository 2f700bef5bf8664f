// Where ops go, and who looks on.
#pragma once

#include "runtime/eager/eager.h"

namespace plimsoll::runtime {

class Tape;

// The op's outputs, seen by every tape that is recording on this thread;
// written to its trace where it has one. An op without operands runs on `home`,
// or on the session that is current.
Result<Values> dispatch(const graph::OpDef& op,
                        std::span<const ValuePtr> inputs,
                        const graph::Attrs& attrs = {}, Eager* home = nullptr);
// The same for ops with one output.
Result<ValuePtr> dispatch_one(const graph::OpDef& op,
                              std::span<const ValuePtr> inputs,
                              const graph::Attrs& attrs = {});
// A value full of one number, beside `home`'s or in the current session.
Result<ValuePtr> filled(const graph::TensorType& type, double number,
                        Eager* home = nullptr);

// An error for values of a traced function.
Status check_in_memory(const Value& value);

// The last that was made and is still open; an error where there is none.
Result<std::shared_ptr<Eager>> current_eager();
void enter_eager(const std::shared_ptr<Eager>& eager);
void leave_eager(const Eager* eager) noexcept;

// Tapes that record what this thread does, the innermost last.
std::vector<Tape*>& recording_tapes();

// While it is there, none does.
class WithoutTapes {
 public:
  WithoutTapes() { recording_tapes().swap(tapes_); }
  ~WithoutTapes() { recording_tapes().swap(tapes_); }
  WithoutTapes(const WithoutTapes&) = delete;
  WithoutTapes& operator=(const WithoutTapes&) = delete;

 private:
  std::vector<Tape*> tapes_;
};

}  // namespace plimsoll::runtime
