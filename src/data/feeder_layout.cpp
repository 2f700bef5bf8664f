#include <algorithm>

#include "base/units.h"
#include "data/feeder.h"

namespace plimsoll::data {
namespace {

constexpr std::int64_t kAlignment = 64;

std::int64_t aligned(std::int64_t bytes) { return round_up(bytes, kAlignment); }

}  // namespace

FeederLayout feeder_layout(const Source& source, const FeederOptions& options) {
  FeederLayout layout;
  // Shuffled rows do not lie one after another: they have to be gathered.
  if (!options.shuffle) {
    layout.borrow_features =
        source.borrow_features(0, options.features_as) != nullptr;
    layout.borrow_labels =
        source.borrow_labels(0, options.labels_as) != nullptr;
  }
  if (layout.borrows_all()) return layout;

  const auto field = [&](const FieldType& type, DType as, bool borrow) {
    return borrow ? 0 : aligned(options.batch * type.elements() * size_of(as));
  };
  layout.slots = std::max(1, options.slots);
  layout.labels_offset =
      field(source.features(), options.features_as, layout.borrow_features);
  layout.slot_bytes =
      layout.labels_offset +
      field(source.labels(), options.labels_as, layout.borrow_labels);
  layout.indices_offset = layout.slots * layout.slot_bytes;
  layout.scratch_offset =
      layout.indices_offset +
      aligned(options.batch * static_cast<std::int64_t>(sizeof(std::int64_t)));
  layout.scratch_bytes =
      source.scratch_bytes(options.features_as, options.labels_as);
  layout.total_bytes = layout.scratch_offset + aligned(layout.scratch_bytes);
  return layout;
}

}  // namespace plimsoll::data
