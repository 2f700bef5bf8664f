// Which errors may be left out, and when leaving out must end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/stream.h"

namespace plimsoll::data {

// A stream that cannot go on gives the same error again, and one that never
// ends may never give an element again: neither is forgiven forever.
class Leniency {
 public:
  explicit Leniency(ErrorPolicy* policy) : policy_(policy) {}

  // Whether to go on behind `error`; counts it then. Otherwise the error may
  // say that there were too many.
  bool forgives(Error& error);
  void element_came() { in_a_row_ = 0; }

 private:
  ErrorPolicy* policy_;
  std::int64_t in_a_row_ = 0;
  std::string last_;
};

// Leaves out elements that could not be read or made; `policy` outlives it.
std::unique_ptr<Stream> skip_errors_stream(std::unique_ptr<Stream> input,
                                           ErrorPolicy& policy);

}  // namespace plimsoll::data
