#include "data/sets/array_set.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "data/check.h"

namespace plimsoll::data {
namespace {

// Rows in random order miss every cache: asking for a few of them ahead keeps
// as many lines under way as a core can have.
constexpr std::size_t kRowsAhead = 4;
constexpr std::int64_t kLineBytes = 64;
constexpr std::int64_t kMostBytesAhead = 16 * kLineBytes;

void prefetch_row(const std::byte* row, std::int64_t bytes) {
  for (std::int64_t at = 0; at < std::min(bytes, kMostBytesAhead);
       at += kLineBytes) {
    __builtin_prefetch(row + at);
  }
}

void gather_rows(const std::byte* data, std::int64_t row_bytes,
                 std::span<const std::int64_t> numbers, std::byte* out) {
  const auto bytes = static_cast<std::size_t>(row_bytes);
  for (std::size_t i = 0; i < std::min(kRowsAhead, numbers.size()); ++i) {
    prefetch_row(data + numbers[i] * row_bytes, row_bytes);
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i + kRowsAhead < numbers.size()) {
      prefetch_row(data + numbers[i + kRowsAhead] * row_bytes, row_bytes);
    }
    std::memcpy(out, data + numbers[i] * row_bytes, bytes);
    out += row_bytes;
  }
}

}  // namespace

Result<std::unique_ptr<ArraySet>> ArraySet::create(
    std::int64_t size, std::vector<ArrayField> fields) {
  ElementSpec spec;
  std::vector<const std::byte*> data;
  for (ArrayField& field : fields) {
    const std::string name = fmt::format("the array `{}`", field.spec.name);
    PLIMSOLL_RETURN_IF_ERROR(check_field(name, size, field.spec));
    if (field.data == nullptr) {
      return Error{ErrorCode::bad_input, name + " is a null pointer"};
    }
    data.push_back(static_cast<const std::byte*>(field.data));
    spec.push_back(std::move(field.spec));
  }
  PLIMSOLL_RETURN_IF_ERROR(check_spec("the arrays", spec));
  return std::unique_ptr<ArraySet>(
      new ArraySet(size, std::move(spec), std::move(data)));
}

Status ArraySet::read(std::int64_t number, Element& out,
                      std::span<std::byte* const>, const ReadContext&) const {
  PLIMSOLL_RETURN_IF_ERROR(check_numbers(*this, {&number, 1}));
  out.index = number;
  for (std::size_t i = 0; i < spec_.size(); ++i) {
    const std::int64_t bytes = spec_[i].most_bytes;
    out.values[i] = {data_[i] + number * bytes, bytes, spec_[i].shape};
  }
  return {};
}

Status ArraySet::gather(std::span<const std::int64_t> numbers,
                        std::span<std::byte* const> rows,
                        const ReadContext&) const {
  PLIMSOLL_RETURN_IF_ERROR(check_numbers(*this, numbers));
  for (std::size_t i = 0; i < spec_.size(); ++i) {
    if (rows[i] == nullptr) continue;
    gather_rows(data_[i], spec_[i].most_bytes, numbers, rows[i]);
  }
  return {};
}

const std::byte* ArraySet::borrow(int field, std::int64_t first) const {
  const auto i = static_cast<std::size_t>(field);
  return data_[i] + first * spec_[i].most_bytes;
}

std::string ArraySet::describe() const {
  return fmt::format("arrays: {} elements of {}", size_, to_string(spec_));
}

}  // namespace plimsoll::data
