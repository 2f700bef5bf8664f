#include "data/streams/cache_stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace plimsoll::data {
namespace {

constexpr std::int64_t kAlignment = 16;

// Before a record's fields; of a field whose shape varies, bytes and sizes
// stand before its data.
struct Head {
  std::int64_t record_bytes;
  std::int64_t index;
  std::int64_t offset;
  std::int64_t file;
};

std::int64_t shape_bytes(const FieldSpec& field) {
  if (field.shape.is_fixed()) return 0;
  return round_up((1 + field.shape.rank) * 8, kAlignment);
}

}  // namespace

CacheStream::CacheStream(std::unique_ptr<Stream> input,
                         const CacheOptions& options)
    : Stage(std::move(input)), options_(options), file_(options.folder) {
  most_record_bytes_ = sizeof(Head);
  for (const FieldSpec& field : spec()) {
    most_record_bytes_ +=
        shape_bytes(field) + round_up(field.most_bytes, kAlignment);
  }
}

Result<std::unique_ptr<CacheStream>> CacheStream::create(
    std::unique_ptr<Stream> input, const CacheOptions& options) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 56;
  std::int64_t element_bytes = 0;
  bool overflow = false;
  for (const FieldSpec& field : input->spec()) {
    overflow =
        overflow || field.most_bytes > kMostBytes ||
        __builtin_add_overflow(element_bytes, field.most_bytes, &element_bytes);
  }
  if (overflow || options.memory_bytes < 0 ||
      options.memory_bytes > kMostBytes) {
    return Error{ErrorCode::bad_input,
                 fmt::format("cache: {} bytes of memory for elements of {}: 0 "
                             "to 2^56 bytes are right",
                             options.memory_bytes, to_string(input->spec()))};
  }
  return std::unique_ptr<CacheStream>(
      new CacheStream(std::move(input), options));
}

std::int64_t CacheStream::count() const {
  return complete_ ? kept_ : input_->count();
}

void CacheStream::place(Placer& placer) {
  input_->place(placer);
  memory_ = placer.take(name(), "kept elements", options_.memory_bytes);
  if (options_.folder.empty()) return;
  const std::int64_t bytes = SpillFile::buffer_bytes(most_record_bytes_);
  file_.set_buffer({placer.take(name(), "file buffer", bytes),
                    static_cast<std::size_t>(bytes)});
}

Status CacheStream::start(std::int64_t) {
  position_ = 0;
  if (complete_) return replay_to(0);
  mode_ = Mode::filling;
  kept_ = memory_used_ = 0;
  PLIMSOLL_RETURN_IF_ERROR(file_.clear());
  return input_->start(0);
}

Result<bool> CacheStream::next(Element& out) {
  PLIMSOLL_ASSIGN(const bool got, mode_ == Mode::replaying
                                      ? next_kept(out)
                                      : next_of_input(out));
  if (got) ++position_;
  return got;
}

Result<bool> CacheStream::next_of_input(Element& out) {
  PLIMSOLL_ASSIGN(const bool got, input_->next(out));
  if (mode_ == Mode::passing) return got;
  if (got) {
    PLIMSOLL_RETURN_IF_ERROR(keep(out));
    return true;
  }
  PLIMSOLL_RETURN_IF_ERROR(file_.finish());
  complete_ = true;
  mode_ = Mode::replaying;  // and at its end
  memory_read_ = memory_used_;
  return false;
}

std::int64_t CacheStream::record_bytes(const Element& element) const {
  std::int64_t bytes = sizeof(Head);
  for (std::size_t i = 0; i < spec().size(); ++i) {
    bytes +=
        shape_bytes(spec()[i]) + round_up(element.values[i].bytes, kAlignment);
  }
  return bytes;
}

void CacheStream::write_record(const Element& element, std::int64_t bytes,
                               std::byte* to) const {
  const Head head = {bytes, element.index, element.offset, element.file};
  std::memcpy(to, &head, sizeof(head));
  to += sizeof(head);
  for (std::size_t i = 0; i < spec().size(); ++i) {
    const Value& value = element.values[i];
    if (const std::int64_t shape = shape_bytes(spec()[i]); shape > 0) {
      std::memcpy(to, &value.bytes, 8);
      std::memcpy(to + 8, value.shape.sizes.data(),
                  static_cast<std::size_t>(value.shape.rank) * 8);
      to += shape;
    }
    if (value.bytes > 0) {
      std::memcpy(to, value.data, static_cast<std::size_t>(value.bytes));
    }
    to += round_up(value.bytes, kAlignment);
  }
}

Result<std::int64_t> CacheStream::read_record(std::span<const std::byte> from,
                                              Element& out) const {
  Head head{};
  if (from.size() >= sizeof(head)) {
    std::memcpy(&head, from.data(), sizeof(head));
  }
  if (head.record_bytes < static_cast<std::int64_t>(sizeof(head)) ||
      head.record_bytes > static_cast<std::int64_t>(from.size())) {
    return Error{ErrorCode::io,
                 fmt::format("cache: the kept element {} was changed by "
                             "somebody else",
                             position_)};
  }
  out.index = head.index;
  out.offset = head.offset;
  out.file = static_cast<int>(head.file);
  const std::byte* at = from.data() + sizeof(head);
  for (std::size_t i = 0; i < spec().size(); ++i) {
    Value& value = out.values[i];
    value.shape = spec()[i].shape;
    value.bytes = spec()[i].most_bytes;
    if (const std::int64_t shape = shape_bytes(spec()[i]); shape > 0) {
      std::memcpy(&value.bytes, at, 8);
      std::memcpy(value.shape.sizes.data(), at + 8,
                  static_cast<std::size_t>(value.shape.rank) * 8);
      at += shape;
    }
    value.data = at;
    at += round_up(value.bytes, kAlignment);
  }
  return head.record_bytes;
}

Status CacheStream::keep(const Element& element) {
  for (std::size_t i = 0; i < spec().size(); ++i) {
    const std::int64_t bytes = element.values[i].bytes;
    const std::int64_t most = spec()[i].most_bytes;
    const bool right = spec()[i].shape.is_fixed() ? bytes == most
                                                  : bytes >= 0 && bytes <= most;
    if (right) continue;
    return at_element(
        *input_, element, name(),
        {ErrorCode::bad_input, fmt::format("field {} has {} bytes, but {} were "
                                           "announced",
                                           spec()[i].name, bytes, most)});
  }
  const std::int64_t bytes = record_bytes(element);
  // Behind the first element in the file all are: the order is kept.
  if (file_.written_bytes() == 0 &&
      bytes <= options_.memory_bytes - memory_used_) {
    write_record(element, bytes, memory_ + memory_used_);
    memory_used_ += bytes;
  } else {
    PLIMSOLL_ASSIGN(std::byte* const to, file_.append(bytes));
    write_record(element, bytes, to);
  }
  ++kept_;
  return {};
}

Result<bool> CacheStream::next_kept(Element& out) {
  if (memory_read_ < memory_used_) {
    const auto left = static_cast<std::size_t>(memory_used_ - memory_read_);
    PLIMSOLL_ASSIGN(const std::int64_t bytes,
                    read_record({memory_ + memory_read_, left}, out));
    memory_read_ += bytes;
    return true;
  }
  if (file_.at_end() || position_ >= kept_) return false;
  PLIMSOLL_ASSIGN(const auto seen, file_.peek(most_record_bytes_));
  PLIMSOLL_ASSIGN(const std::int64_t bytes, read_record(seen, out));
  file_.consume(bytes);
  return true;
}

Status CacheStream::replay_to(std::int64_t position) {
  mode_ = Mode::replaying;
  position_ = memory_read_ = 0;
  file_.rewind();
  Element passed;
  while (position_ < position) {
    PLIMSOLL_ASSIGN(const bool got, next(passed));
    if (!got) break;
  }
  return {};
}

Status CacheStream::discard(std::int64_t elements) {
  Error last;
  Element passed;
  while (position_ < elements) {
    auto got = next(passed);
    if (got && !*got) return {};
    if (got) continue;
    // It was given before, unless the input cannot go on.
    if (got.error() == last) return std::move(got).error();
    last = std::move(got).error();
  }
  return {};
}

void CacheStream::save(State& state) const {
  state.push(mode_ == Mode::replaying ? 1 : 0);
  state.push(position_);
  input_->save(state);
}

Status CacheStream::restore(std::int64_t, StateReader& state) {
  PLIMSOLL_ASSIGN(const std::int64_t replaying, state.next(0, 1));
  constexpr std::int64_t kMostElements = std::int64_t{1} << 62;
  PLIMSOLL_ASSIGN(const std::int64_t position, state.next(0, kMostElements));
  if (complete_) {
    PLIMSOLL_RETURN_IF_ERROR(pass_over(state, state_numbers(*input_)));
    return replay_to(position);
  }
  if (replaying == 1 || position == 0) {
    // Read from the start, and so kept on the way.
    PLIMSOLL_RETURN_IF_ERROR(pass_over(state, state_numbers(*input_)));
    PLIMSOLL_RETURN_IF_ERROR(start(0));
    return discard(position);
  }
  // The epoch's first elements are missing: the next one is kept.
  mode_ = Mode::passing;
  position_ = position;
  kept_ = memory_used_ = 0;
  PLIMSOLL_RETURN_IF_ERROR(file_.clear());
  return input_->restore(0, state);
}

}  // namespace plimsoll::data
