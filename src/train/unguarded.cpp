#include "train/unguarded.h"

#include <cstdlib>
#include <cstring>
#include <limits>

namespace plimsoll::train {
namespace {

std::int64_t room(std::int64_t budget_bytes,
                  const plan::SpaceForecast& forecast) {
  return budget_bytes -
         forecast.accounts[static_cast<std::size_t>(Purpose::runtime)];
}

}  // namespace

bool unguarded() {
  const char* text = std::getenv("PLIMSOLL_UNGUARDED");
  return text != nullptr && std::strcmp(text, "1") == 0;
}

Ballast leave_room(const Line& line, const plan::JobPlan& plan,
                   Machine& machine) {
  machine.host().set_most_bytes(room(line.host_bytes, plan.host));
  if (machine.device() == nullptr) return {};
  return {machine.device()->memory(), room(line.device_bytes, *plan.device)};
}

Line no_line() {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return {kMost, kMost};
}

}  // namespace plimsoll::train
