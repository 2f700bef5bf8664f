#include "data/resident_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/units.h"

namespace plimsoll::data {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t kSliceBytes = 4 * kMiB;
constexpr std::int64_t kMostSliceRows = 4096;

std::int64_t labels_offset(const Source& source) {
  return round_up(source.examples() * source.features().bytes(), kAlignment);
}

// A few large reads instead of one, so that the list of indices stays small.
Status copy_all(const Source& source, std::byte* features, std::byte* labels) {
  const DType features_as = source.features().dtype;
  const DType labels_as = source.labels().dtype;
  const std::int64_t row = source.features().bytes();
  const std::int64_t rows =
      std::clamp<std::int64_t>(kSliceBytes / row, 1, kMostSliceRows);
  std::vector<std::byte> scratch(
      static_cast<std::size_t>(source.scratch_bytes(features_as, labels_as)));
  std::vector<std::int64_t> indices(
      static_cast<std::size_t>(std::min(rows, source.examples())));
  for (std::int64_t first = 0; first < source.examples(); first += rows) {
    const auto count = std::min(rows, source.examples() - first);
    std::iota(indices.begin(), indices.end(), first);
    PLIMSOLL_RETURN_IF_ERROR(
        source.read(std::span(indices).first(static_cast<std::size_t>(count)),
                    features_as, features + first * row, labels_as,
                    labels + first * source.labels().bytes(), scratch));
  }
  return {};
}

}  // namespace

std::int64_t ResidentSource::bytes_needed(const Source& source,
                                          std::int64_t granularity_bytes) {
  return round_up(
      labels_offset(source) + source.examples() * source.labels().bytes(),
      granularity_bytes);
}

ResidentSource::ResidentSource(MemorySource& memory, LedgerEntry entry,
                               void* start, std::int64_t bytes)
    : memory_(memory), entry_(std::move(entry)), start_(start), bytes_(bytes) {}

ResidentSource::~ResidentSource() {
  rows_.reset();
  memory_.unmap(start_, bytes_);
}

Result<std::unique_ptr<ResidentSource>> ResidentSource::load(
    const Source& source, MemorySource& memory, Ledger& ledger) {
  const std::int64_t bytes = bytes_needed(source, memory.granularity_bytes());
  // Charged before it is mapped: over the line, nothing is touched.
  PLIMSOLL_ASSIGN(
      LedgerEntry entry,
      ledger.charge({"data set in memory", Purpose::user, Space::host, bytes}));
  void* start = memory.map(bytes);
  if (start == nullptr) {
    return Error{ErrorCode::over_budget,
                 fmt::format("the system refused {} for the data set ({})",
                             format_bytes(bytes), source.describe())};
  }
  std::unique_ptr<ResidentSource> resident(
      new ResidentSource(memory, std::move(entry), start, bytes));
  auto* features = static_cast<std::byte*>(start);
  auto* labels = features + labels_offset(source);
  PLIMSOLL_RETURN_IF_ERROR(copy_all(source, features, labels));
  PLIMSOLL_ASSIGN(
      resident->rows_,
      ArraySource::create(source.examples(), {features, source.features()},
                          {labels, source.labels()}));
  resident->origin_ = source.describe();
  return resident;
}

Status ResidentSource::read(std::span<const std::int64_t> indices,
                            DType features_as, void* features, DType labels_as,
                            void* labels, std::span<std::byte> scratch) const {
  return rows_->read(indices, features_as, features, labels_as, labels,
                     scratch);
}

const void* ResidentSource::borrow_features(std::int64_t first,
                                            DType as) const {
  return rows_->borrow_features(first, as);
}

const void* ResidentSource::borrow_labels(std::int64_t first, DType as) const {
  return rows_->borrow_labels(first, as);
}

std::string ResidentSource::describe() const {
  return fmt::format("in memory ({}): {}", format_bytes(bytes_), origin_);
}

}  // namespace plimsoll::data
