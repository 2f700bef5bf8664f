// A whole set held in memory in its stored types: one mapping, charged to the
// ledger as `user`, so that the naive way can be forecast and refused.
#pragma once

#include <memory>

#include "data/sets/array_set.h"
#include "memory/ledger.h"
#include "plimsoll/memory_source.h"

namespace plimsoll::data {

class ResidentSet final : public Indexed {
 public:
  // What load() would map, known without loading; its shapes must be fixed.
  static std::int64_t bytes_needed(const Indexed& set,
                                   std::int64_t granularity_bytes);

  // Reads `set` in slices; it is not needed afterwards. `memory` and `ledger`
  // must outlive the result.
  static Result<std::unique_ptr<ResidentSet>> load(const Indexed& set,
                                                   MemorySource& memory,
                                                   Ledger& ledger);
  ~ResidentSet() override;
  ResidentSet(const ResidentSet&) = delete;
  ResidentSet& operator=(const ResidentSet&) = delete;

  std::string name() const override { return "memory"; }
  const ElementSpec& spec() const override { return rows_->spec(); }
  std::int64_t size() const override { return rows_->size(); }
  Status read(std::int64_t number, Element& out,
              std::span<std::byte* const> buffers,
              const ReadContext& context) const override {
    return rows_->read(number, out, buffers, context);
  }
  Status gather(std::span<const std::int64_t> numbers,
                std::span<std::byte* const> rows,
                const ReadContext& context) const override {
    return rows_->gather(numbers, rows, context);
  }
  const std::byte* borrow(int field, std::int64_t first) const override {
    return rows_->borrow(field, first);
  }
  std::string whereabouts(std::int64_t) const override { return {}; }
  std::string describe() const override;

 private:
  ResidentSet(MemorySource& memory, LedgerEntry entry, void* start,
              std::int64_t bytes);

  MemorySource& memory_;
  LedgerEntry entry_;
  void* start_ = nullptr;
  std::int64_t bytes_ = 0;
  std::unique_ptr<ArraySet> rows_;
  std::string origin_;
};

// `set` as it will look once it is held in memory: to be measured and laid
// out, never read.
Result<std::unique_ptr<Indexed>> resident_stand_in(const Indexed& set);

}  // namespace plimsoll::data
