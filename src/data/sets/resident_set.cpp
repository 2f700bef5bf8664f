#include "data/sets/resident_set.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "base/units.h"

namespace plimsoll::data {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t kSliceBytes = 4 * kMiB;
constexpr std::int64_t kMostSliceRows = 4096;

using Starts = std::array<std::int64_t, kMostFields>;

// Where each field begins; returns the bytes of all.
std::int64_t place_fields(const Indexed& set, Starts& starts) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < set.spec().size(); ++i) {
    starts[i] = bytes;
    bytes += round_up(set.size() * set.spec()[i].most_bytes, kAlignment);
  }
  return bytes;
}

// A few large reads instead of one, so that the list of numbers stays small.
Status copy_all(const Indexed& set, std::byte* start, const Starts& starts) {
  const ElementSpec& spec = set.spec();
  std::int64_t row_bytes = 0;
  for (const FieldSpec& field : spec) row_bytes += field.most_bytes;
  const std::int64_t most =
      std::clamp<std::int64_t>(kSliceBytes / row_bytes, 1, kMostSliceRows);
  std::vector<std::byte> scratch(static_cast<std::size_t>(set.scratch_bytes()) +
                                 kAlignment);
  const auto misaligned =
      reinterpret_cast<std::uintptr_t>(scratch.data()) % kAlignment;
  const ReadContext context{
      std::span(scratch).subspan((kAlignment - misaligned) % kAlignment,
                                 static_cast<std::size_t>(set.scratch_bytes())),
      0};
  std::vector<std::int64_t> numbers(
      static_cast<std::size_t>(std::min(most, set.size())));
  for (std::int64_t first = 0; first < set.size(); first += most) {
    const auto count =
        static_cast<std::size_t>(std::min(most, set.size() - first));
    std::iota(numbers.begin(), numbers.end(), first);
    std::array<std::byte*, kMostFields> rows{};
    for (std::size_t i = 0; i < spec.size(); ++i) {
      rows[i] = start + starts[i] + first * spec[i].most_bytes;
    }
    PLIMSOLL_RETURN_IF_ERROR(
        set.gather(std::span(numbers).first(count), rows, context));
  }
  return {};
}

}  // namespace

std::int64_t ResidentSet::bytes_needed(const Indexed& set,
                                       std::int64_t granularity_bytes) {
  Starts starts{};
  return round_up(place_fields(set, starts), granularity_bytes);
}

ResidentSet::ResidentSet(MemorySource& memory, LedgerEntry entry, void* start,
                         std::int64_t bytes)
    : memory_(memory), entry_(std::move(entry)), start_(start), bytes_(bytes) {}

ResidentSet::~ResidentSet() {
  rows_.reset();
  memory_.unmap(start_, bytes_);
}

Result<std::unique_ptr<ResidentSet>> ResidentSet::load(const Indexed& set,
                                                       MemorySource& memory,
                                                       Ledger& ledger) {
  const std::int64_t bytes = bytes_needed(set, memory.granularity_bytes());
  // Charged before it is mapped: over the line, nothing is touched.
  PLIMSOLL_ASSIGN(
      LedgerEntry entry,
      ledger.charge({"data set in memory", Purpose::user, Space::host, bytes}));
  void* start = memory.map(bytes);
  if (start == nullptr) {
    return Error{
        ErrorCode::over_budget,
        fmt::format(
            "the system refused {} of host memory for the data set ({})",
            format_bytes(bytes), set.describe())};
  }
  std::unique_ptr<ResidentSet> resident(
      new ResidentSet(memory, std::move(entry), start, bytes));
  Starts starts{};
  place_fields(set, starts);
  auto* const base = static_cast<std::byte*>(start);
  PLIMSOLL_RETURN_IF_ERROR(copy_all(set, base, starts));
  std::vector<ArrayField> fields;
  for (std::size_t i = 0; i < set.spec().size(); ++i) {
    fields.push_back({set.spec()[i], base + starts[i]});
  }
  PLIMSOLL_ASSIGN(resident->rows_,
                  ArraySet::create(set.size(), std::move(fields)));
  resident->origin_ = set.describe();
  return resident;
}

std::string ResidentSet::describe() const {
  return fmt::format("in memory ({}): {}", format_bytes(bytes_), origin_);
}

Result<std::unique_ptr<Indexed>> resident_stand_in(const Indexed& set) {
  // Any aligned address will do: the stand-in is never read.
  alignas(64) static const std::byte kNowhere[64] = {};
  std::vector<ArrayField> fields;
  for (const FieldSpec& field : set.spec()) fields.push_back({field, kNowhere});
  PLIMSOLL_ASSIGN(auto rows, ArraySet::create(set.size(), std::move(fields)));
  return std::unique_ptr<Indexed>(std::move(rows));
}

}  // namespace plimsoll::data
