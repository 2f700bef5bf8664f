// The last launches on a stream, so that a fault has a name.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op_def.h"

namespace plimsoll::runtime {

class LaunchHistory {
 public:
  // The driver lets far fewer wait.
  static constexpr std::uint32_t kKept = 4096;

  // The number of the next launch. `says`: it writes that number to the mark
  // when it starts; libraries write nothing.
  std::uint32_t add(const graph::OpDef& op, bool says) {
    last_[++count_ % kKept] = {&op, says};
    return count_;
  }
  // All launches so far have run.
  void settle() { settled_ = count_; }

  // The ops that may have failed when `mark` is the last number written: that
  // launch, and those behind it that would not have said so. Empty: all ran.
  std::string suspects(std::uint32_t mark) const {
    // By distance from what has run: numbers begin anew some day.
    const std::uint32_t waiting = count_ - settled_;
    const std::uint32_t begun = mark - settled_;
    std::uint32_t first = begun >= 1 && begun <= waiting ? begun : 1;
    if (waiting - first >= kKept) first = waiting - kKept + 1;
    std::vector<std::string_view> names;
    for (std::uint32_t i = first; i <= waiting; ++i) {
      const Launch& launch = last_[(settled_ + i) % kKept];
      if (i > first && launch.says) break;
      if (std::find(names.begin(), names.end(), launch.op->name) ==
          names.end()) {
        names.push_back(launch.op->name);
      }
    }
    return fmt::format("{}", fmt::join(names, " or "));
  }

 private:
  struct Launch {
    const graph::OpDef* op = nullptr;
    bool says = false;
  };
  std::array<Launch, kKept> last_;
  std::uint32_t count_ = 0;
  std::uint32_t settled_ = 0;
};

}  // namespace plimsoll::runtime
