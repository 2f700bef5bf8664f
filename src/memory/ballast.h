// For tests: fills a memory, but for some room, until its system refuses more.
#pragma once

#include <utility>
#include <vector>

#include "plimsoll/memory_source.h"

namespace plimsoll {

class Ballast {
 public:
  Ballast() = default;
  // Where there is less than the room to begin with, nothing is taken. The
  // source must outlive it.
  Ballast(MemorySource& source, std::int64_t room_bytes);
  Ballast(Ballast&& other) noexcept;
  Ballast& operator=(Ballast&& other) noexcept;
  ~Ballast();

  std::int64_t bytes() const;

 private:
  MemorySource* source_ = nullptr;
  std::vector<std::pair<void*, std::int64_t>> taken_;
};

}  // namespace plimsoll
