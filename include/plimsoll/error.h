// The one exception type that leaves the library.
#pragma once

#include <stdexcept>
#include <string>

namespace plimsoll {

enum class Failure {
  bad_input,     // a wrong value, file or shape: the text names it
  over_budget,   // an allocation would pass the memory line
  does_not_fit,  // the plan cannot fit: the text says why and what would help
  unsupported,   // no kernel or feature of that name
  io,            // the system refused a read or a write
  device,        // a kernel or device call failed
  cancelled,
  internal,
};

class Exception : public std::runtime_error {
 public:
  Exception(Failure failure, const std::string& message)
      : std::runtime_error(message), failure_(failure) {}
  Failure failure() const { return failure_; }

 private:
  Failure failure_;
};

}  // namespace plimsoll
