#include <fmt/core.h>

#include <algorithm>

#include "base/units.h"
#include "data/feeder.h"

namespace plimsoll::data {
namespace {

constexpr std::int64_t kAlignment = 64;
// Rows that wait to be cast: long enough to make calls cheap, short enough to
// stay in the second-level cache.
constexpr std::int64_t kCastBytes = 128 * kKiB;

std::int64_t aligned(std::int64_t bytes) { return round_up(bytes, kAlignment); }

DType cast_of(const FeederOptions& options, const ElementSpec& spec,
              std::size_t field) {
  return options.as.empty() ? spec[field].dtype : options.as[field];
}

Status check(const Input& input, const FeederOptions& options) {
  const ElementSpec& spec = input.spec();
  if (options.batch < 1) {
    return Error{ErrorCode::bad_input,
                 fmt::format("a batch of {} examples: at least 1 is needed",
                             options.batch)};
  }
  if (!options.as.empty() && options.as.size() != spec.size()) {
    return Error{
        ErrorCode::internal,
        fmt::format("{} types for {} fields", options.as.size(), spec.size())};
  }
  for (const FieldSpec& field : spec) {
    if (field.shape.is_fixed() && field.shape.rank < kMostRank) continue;
    return Error{
        ErrorCode::bad_input,
        fmt::format("{}: field `{}` has shape {}, which cannot be stacked to a "
                    "batch: bring all elements to one shape first (resize, "
                    "crop, padded_batch)",
                    input.description, field.name, to_string(field.shape))};
  }
  return {};
}

}  // namespace

Result<FeederLayout> feeder_layout(const Input& input,
                                   const FeederOptions& options) {
  PLIMSOLL_RETURN_IF_ERROR(check(input, options));
  const ElementSpec& spec = input.spec();
  FeederLayout layout;
  std::int64_t cast_row_bytes = 0;
  bool all = true;
  for (std::size_t i = 0; i < spec.size(); ++i) {
    const DType as = cast_of(options, spec, i);
    const bool borrow = options.borrow && input.set && as == spec[i].dtype &&
                        input.set->borrow(static_cast<int>(i), 0) != nullptr;
    layout.borrowed.push_back(borrow);
    layout.field_offsets.push_back(layout.slot_bytes);
    all = all && borrow;
    if (!borrow) {
      layout.slot_bytes +=
          round_up(options.batch * spec[i].shape.elements() * size_of(as),
                   options.alignment_bytes);
    }
    const bool makes = input.set && input.set->makes(static_cast<int>(i), as);
    layout.made.push_back(makes ? as : spec[i].dtype);
    if (as != layout.made[i]) cast_row_bytes += aligned(spec[i].most_bytes);
  }
  if (all) return layout;

  layout.slots = std::max(1, options.slots);
  layout.readers = input.stream ? std::min(options.readers, 1)
                                : std::max(0, options.readers);
  layout.readers_offset = layout.slots * layout.slot_bytes;
  if (input.stream) {
    Placer counted;
    input.stream->place(counted);
    layout.stream_bytes = counted.bytes();
  } else {
    layout.numbers_bytes = aligned(
        options.batch * static_cast<std::int64_t>(sizeof(std::int64_t)));
    if (cast_row_bytes > 0) {
      layout.cast_rows = std::clamp<std::int64_t>(kCastBytes / cast_row_bytes,
                                                  1, options.batch);
      layout.cast_bytes = layout.cast_rows * cast_row_bytes;
    }
    layout.scratch_bytes = aligned(input.set->scratch_bytes());
  }
  // The consumer reads, too: while it waits, or where there is no reader.
  layout.stream_offset =
      layout.readers_offset + (layout.readers + 1) * layout.reader_bytes();
  layout.total_bytes = layout.stream_offset + layout.stream_bytes;
  return layout;
}

}  // namespace plimsoll::data
