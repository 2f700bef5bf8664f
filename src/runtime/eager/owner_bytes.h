// Who holds how many bytes: one add for each block, read at any time.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "memory/ledger.h"

namespace plimsoll::runtime {

class OwnerBytes final : public Breakdown {
 public:
  OwnerBytes(Purpose purpose, Space space);

  // Calls of these are made one at a time.
  std::int32_t number(const std::string& name);
  bool knows(std::int32_t owner) const {
    return owner >= 0 && static_cast<std::size_t>(owner) < count_;
  }
  void add(std::int32_t owner, std::int64_t bytes) noexcept {
    auto& sum = owners_[static_cast<std::size_t>(owner)].bytes;
    sum.store(sum.load(std::memory_order_relaxed) + bytes,
              std::memory_order_relaxed);
  }
  void clear() noexcept;
  const std::string& name(std::int32_t owner) const {
    return owners_[static_cast<std::size_t>(owner)].name;
  }

  // These at any time. Owners that hold something, largest first.
  std::vector<Holding> snapshot() const;
  // Owners' bytes, and as `cache` what is held for blocks to come.
  void list(const Holding& whole, std::vector<Holding>& to) const override;

 private:
  struct Owner {
    std::string name;
    std::atomic<std::int64_t> bytes{0};
  };

  const Purpose purpose_;
  const Space space_;
  mutable std::mutex growing_;  // of the list; its elements stay where they are
  std::deque<Owner> owners_;
  std::unordered_map<std::string, std::int32_t> numbers_;
  std::size_t count_ = 0;
};

}  // namespace plimsoll::runtime
