#include "data/sets/npy_set.h"

#include <fmt/core.h>

#include <utility>

#include "base/units.h"
#include "data/check.h"
#include "data/sets/stacked_rows.h"

namespace plimsoll::data {
namespace {

// Dropping asks the system to walk the file's cached pages: after this much
// the walk costs little, and what waits for it is little too.
constexpr std::int64_t kDropStepBytes = 8 * kMiB;

}  // namespace

Result<std::unique_ptr<NpySet>> NpySet::open(
    const std::vector<NpyField>& fields, PageCache cache) {
  std::unique_ptr<NpySet> set(new NpySet());
  for (const NpyField& field : fields) {
    PLIMSOLL_ASSIGN(io::NpyFile file, io::NpyFile::open(field.path));
    PLIMSOLL_ASSIGN(FieldSpec spec,
                    stacked_field(field.path + ":", field.name,
                                  file.header().dtype, file.header().shape));
    const std::int64_t size = file.header().shape.extent(0);
    if (set->fields_.empty()) set->size_ = size;
    if (size != set->size_) {
      return Error{
          ErrorCode::bad_input,
          fmt::format("{} has {} examples, {} has {} {}: the counts should be "
                      "equal",
                      set->fields_[0].file.path(), set->size_, field.path, size,
                      field.name)};
    }
    const bool drop =
        cache == PageCache::drop ||
        (cache == PageCache::automatic && file.data_bytes() > kKeptFileBytes);
    set->spec_.push_back(std::move(spec));
    set->fields_.push_back({std::move(file), drop,
                            std::make_unique<std::atomic<std::int64_t>>(0)});
  }
  PLIMSOLL_RETURN_IF_ERROR(check_spec("npy", set->spec_));
  return set;
}

void NpySet::count_read(const Field& field, std::int64_t bytes) {
  if (!field.drop) return;
  const std::int64_t read =
      field.read_bytes->fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (read < kDropStepBytes) return;
  field.read_bytes->store(0, std::memory_order_relaxed);
  field.file.drop_cache();
}

Status NpySet::gather_field(std::size_t i,
                            std::span<const std::int64_t> numbers,
                            std::byte* out) const {
  const Field& field = fields_[i];
  return gather_runs(numbers, spec_[i].most_bytes, out,
                     [&](std::int64_t offset, std::span<std::byte> part) {
                       count_read(field,
                                  static_cast<std::int64_t>(part.size()));
                       return field.file.read(offset, part);
                     });
}

Status NpySet::gather(std::span<const std::int64_t> numbers,
                      std::span<std::byte* const> rows,
                      const ReadContext&) const {
  PLIMSOLL_RETURN_IF_ERROR(check_numbers(*this, numbers));
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (rows[i] == nullptr) continue;
    PLIMSOLL_RETURN_IF_ERROR(gather_field(i, numbers, rows[i]));
  }
  return {};
}

bool NpySet::prefers_blocks() const {
  // A row as long as this costs little more than its own bytes to reach.
  constexpr std::int64_t kLongRowBytes = 64 * kKiB;
  std::int64_t bytes = 0;
  for (const Field& field : fields_) bytes += field.file.data_bytes();
  return bytes > kKeptFileBytes && bytes / size_ < kLongRowBytes;
}

std::string NpySet::whereabouts(std::int64_t number) const {
  return fmt::format(
      "{}, offset {}", fields_[0].file.path(),
      fields_[0].file.data_offset() + number * spec_[0].most_bytes);
}

std::string NpySet::describe() const {
  std::string files;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    files += fmt::format("{}{} from {}", i == 0 ? "" : ", ", spec_[i].name,
                         fields_[i].file.path());
  }
  return fmt::format("npy: {} examples of {} {}, {}", size_,
                     name_of(spec_[0].dtype), to_string(spec_[0].shape), files);
}

}  // namespace plimsoll::data
