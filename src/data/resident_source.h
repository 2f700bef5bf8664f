// A whole set held in memory in its stored types: one mapping, charged to the
// ledger as `user`, so that the naive way can be forecast and refused.
#pragma once

#include <memory>

#include "data/array_source.h"
#include "data/source.h"
#include "memory/ledger.h"
#include "plimsoll/memory_source.h"

namespace plimsoll::data {

class ResidentSource final : public Source {
 public:
  // What load() would map, known without loading.
  static std::int64_t bytes_needed(const Source& source,
                                   std::int64_t granularity_bytes);

  // Reads `source` in slices; it is not needed afterwards. `memory` and
  // `ledger` must outlive the result.
  static Result<std::unique_ptr<ResidentSource>> load(const Source& source,
                                                      MemorySource& memory,
                                                      Ledger& ledger);
  ~ResidentSource() override;
  ResidentSource(const ResidentSource&) = delete;
  ResidentSource& operator=(const ResidentSource&) = delete;

  std::int64_t examples() const override { return rows_->examples(); }
  const FieldType& features() const override { return rows_->features(); }
  const FieldType& labels() const override { return rows_->labels(); }
  std::int64_t scratch_bytes(DType, DType) const override { return 0; }
  Status read(std::span<const std::int64_t> indices, DType features_as,
              void* features, DType labels_as, void* labels,
              std::span<std::byte> scratch) const override;
  const void* borrow_features(std::int64_t first, DType as) const override;
  const void* borrow_labels(std::int64_t first, DType as) const override;
  std::int64_t resident_bytes() const override { return bytes_; }
  std::string describe() const override;

 private:
  ResidentSource(MemorySource& memory, LedgerEntry entry, void* start,
                 std::int64_t bytes);

  MemorySource& memory_;
  LedgerEntry entry_;
  void* start_ = nullptr;
  std::int64_t bytes_ = 0;
  std::unique_ptr<ArraySource> rows_;
  std::string origin_;
};

}  // namespace plimsoll::data
