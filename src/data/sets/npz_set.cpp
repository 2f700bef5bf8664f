#include "data/sets/npz_set.h"

#include <fmt/core.h>

#include <utility>

#include "data/check.h"
#include "data/sets/stacked_rows.h"

namespace plimsoll::data {

Result<std::unique_ptr<NpzSet>> NpzSet::open(
    const std::string& path, const std::vector<std::string>& arrays,
    const std::vector<std::string>& fields) {
  PLIMSOLL_ASSIGN(io::NpzFile file, io::NpzFile::open(path));
  std::unique_ptr<NpzSet> set(new NpzSet(std::move(file)));
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    PLIMSOLL_ASSIGN(const int number, set->file_.find(arrays[i]));
    const io::NpzArray& array =
        set->file_.arrays()[static_cast<std::size_t>(number)];
    const std::string name = fmt::format("{}: `{}`", path, arrays[i]);
    if (array.deflated) {
      return Error{ErrorCode::bad_input,
                   fmt::format("{} is compressed, and single examples cannot "
                               "be read from it: save it with numpy.savez "
                               "instead of savez_compressed",
                               name)};
    }
    PLIMSOLL_ASSIGN(
        FieldSpec field,
        stacked_field(name, fields[i], array.header.dtype, array.header.shape));
    const std::int64_t size = array.header.shape.extent(0);
    if (i == 0) set->size_ = size;
    if (size != set->size_) {
      return Error{ErrorCode::bad_input,
                   fmt::format("{} has {} examples, `{}` has {}: the counts "
                               "should be equal",
                               name, size, arrays[0], set->size_)};
    }
    set->arrays_.push_back(number);
    set->spec_.push_back(std::move(field));
  }
  PLIMSOLL_RETURN_IF_ERROR(check_spec(path, set->spec_));
  return set;
}

Status NpzSet::gather(std::span<const std::int64_t> numbers,
                      std::span<std::byte* const> rows,
                      const ReadContext&) const {
  PLIMSOLL_RETURN_IF_ERROR(check_numbers(*this, numbers));
  for (std::size_t i = 0; i < spec_.size(); ++i) {
    if (rows[i] == nullptr) continue;
    const int array = arrays_[i];
    PLIMSOLL_RETURN_IF_ERROR(
        gather_runs(numbers, spec_[i].most_bytes, rows[i],
                    [&](std::int64_t offset, std::span<std::byte> out) {
                      return file_.read(array, offset, out);
                    }));
  }
  return {};
}

std::string NpzSet::whereabouts(std::int64_t number) const {
  return fmt::format("{}, row {}", file_.file().path(), number);
}

std::string NpzSet::describe() const {
  return fmt::format("npz: {} examples of {} from {}", size_, to_string(spec_),
                     file_.file().path());
}

}  // namespace plimsoll::data
