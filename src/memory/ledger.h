// The one book of every byte held: owner, purpose, space.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "memory/purpose.h"

namespace plimsoll {

struct Holding {
  std::string owner;
  Purpose purpose = Purpose::runtime;
  Space space = Space::host;
  std::int64_t bytes = 0;
  friend bool operator==(const Holding&, const Holding&) = default;
};

class Ledger;

// Gives its bytes back to the ledger when it goes.
class LedgerEntry {
 public:
  LedgerEntry() = default;
  LedgerEntry(LedgerEntry&& other) noexcept;
  LedgerEntry& operator=(LedgerEntry&& other) noexcept;
  ~LedgerEntry();
  void release() noexcept;

 private:
  friend class Ledger;
  LedgerEntry(Ledger* ledger, std::uint64_t id) : ledger_(ledger), id_(id) {}
  Ledger* ledger_ = nullptr;
  std::uint64_t id_ = 0;
};

class Ledger {
 public:
  Ledger();
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Pinned memory counts against the host's limit. No limit: unlimited.
  void set_limit(Space space, std::int64_t bytes);

  // Over the limit: an over_budget error that carries the largest holdings.
  Result<LedgerEntry> charge(Holding holding);

  std::vector<Holding> snapshot() const;  // largest first
  // The host's figures include pinned memory, as its limit does.
  std::int64_t held_bytes(Space space) const;
  std::int64_t peak_bytes(Space space) const;
  // Number of charges ever made: stands still once a job is running.
  std::int64_t charges() const;

 private:
  friend class LedgerEntry;
  void release(std::uint64_t id) noexcept;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll
