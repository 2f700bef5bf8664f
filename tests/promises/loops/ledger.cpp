#include <sstream>

#include "loops.h"

namespace plimsoll::loops {
namespace {

// The sum of explain()'s lines whose purpose is not `left_out`, without
// kernels: the last 512 stay, and their memory is malloc's.
std::int64_t sum_without(const Session& session, const std::string& left_out) {
  std::istringstream text(session.explain());
  std::int64_t sum = 0;
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string number, unit, purpose, space, owner;
    words >> number >> unit >> purpose >> space >> owner;
    std::erase(number, ',');
    if (purpose != left_out && owner != "kernels") sum += std::stoll(number);
  }
  return sum;
}

}  // namespace

std::int64_t live_bytes(const Session& session) {
  return sum_without(session, "cache");
}

std::int64_t held_bytes(const Session& session) {
  return sum_without(session, "runtime");
}

std::int64_t all_bytes(const Session& session) {
  return sum_without(session, "");
}

}  // namespace plimsoll::loops
