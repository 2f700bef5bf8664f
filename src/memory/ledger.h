// The one book of every byte held: owner, purpose, space.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
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

// Says what the bytes of one entry are made of, when somebody looks. Called
// with the ledger locked, from any thread: it must not call the ledger.
class Breakdown {
 public:
  // Appends holdings that add up to `whole`.
  virtual void list(const Holding& whole, std::vector<Holding>& to) const = 0;

 protected:
  ~Breakdown() = default;
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
  // Holds `bytes` from now on. Growing over the limit: an over_budget error in
  // the name of `asks`, and all is as before.
  Status resize(std::int64_t bytes, std::string_view asks);
  // Shown in place of the entry, in snapshots and errors; it must outlive it.
  void set_breakdown(const Breakdown& breakdown);

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
  // What its limit leaves; more than anybody asks for where there is none.
  std::int64_t room_bytes(Space space) const;
  // Number of charges ever made, growth included: stands still once a job is
  // running.
  std::int64_t charges() const;

 private:
  friend class LedgerEntry;
  void release(std::uint64_t id) noexcept;
  Status resize(std::uint64_t id, std::int64_t bytes, std::string_view asks);
  void set_breakdown(std::uint64_t id, const Breakdown& breakdown);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll
