// Who holds how many bytes: one add for each block, read at any time.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "memory/ledger.h"

namespace plimsoll::runtime {

class OwnerBytes final : public Breakdown {
 public:
  explicit OwnerBytes(Space space);

  // Calls of these are made one at a time.
  // Of more than kMost names, those that come late count as the first, 0.
  static constexpr std::size_t kMost = 4096;
  std::int32_t number(const std::string& name, Purpose purpose);
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
    Purpose purpose = Purpose::activations;
    std::atomic<std::int64_t> bytes{0};
  };

  const Space space_;
  mutable std::mutex growing_;  // of the list; its elements stay where they are
  std::deque<Owner> owners_;
  std::map<std::pair<std::string, Purpose>, std::int32_t> numbers_;
  std::size_t count_ = 0;
};

}  // namespace plimsoll::runtime
