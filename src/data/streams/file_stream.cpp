#include "data/streams/file_stream.h"

#include <fmt/core.h>

namespace plimsoll::data {

void FileStream::place(Placer& placer) {
  release();  // the reader lives in memory that may now be another's
  take_memory(placer);
}

void FileStream::release() {
  if (open_) close();
  open_.reset();
}

Status FileStream::begin_file(std::size_t file) {
  if (open_ == file) {
    PLIMSOLL_RETURN_IF_ERROR(rewind());
  } else {
    release();
    PLIMSOLL_RETURN_IF_ERROR(open(files_[file]));
    open_ = file;
  }
  is_begun_ = true;
  return {};
}

void FileStream::begin(std::int64_t epoch) {
  is_begun_ = false;
  place_ = earlier_ = 0;
  if (options_.shuffle_files) {
    order_.emplace(static_cast<std::int64_t>(files_.size()), options_.seed,
                   static_cast<std::uint64_t>(epoch));
  }
}

std::size_t FileStream::file_at(std::int64_t place) const {
  return static_cast<std::size_t>(order_ ? (*order_)(place) : place);
}

Status FileStream::start(std::int64_t epoch) {
  begin(epoch);
  return {};
}

Result<bool> FileStream::next(Element& out) {
  while (place_ < static_cast<std::int64_t>(files_.size())) {
    const std::size_t file = file_at(place_);
    if (!is_begun_) PLIMSOLL_RETURN_IF_ERROR(begin_file(file));
    out.index = earlier_ + position().number;
    out.file = static_cast<int>(file);
    PLIMSOLL_ASSIGN(const bool got, read(out));
    if (got) return true;
    earlier_ += position().number;
    is_begun_ = false;
    ++place_;
  }
  return false;
}

void FileStream::save(State& state) const {
  const Position at = is_begun_ ? position() : Position{};
  state.push(place_);
  state.push(at.offset);
  state.push(earlier_ + at.number);
  // Of a single file, the number within it is the same.
  if (files_.size() > 1) state.push(at.number);
  if (has_extra_) state.push(at.extra);
}

Status FileStream::restore(std::int64_t epoch, StateReader& state) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  const auto files = static_cast<std::int64_t>(files_.size());
  begin(epoch);
  PLIMSOLL_ASSIGN(const std::int64_t place, state.next(0, files));
  Position at;
  PLIMSOLL_ASSIGN(at.offset, state.next(0, kMost));
  PLIMSOLL_ASSIGN(const std::int64_t index, state.next(0, kMost));
  at.number = place == 0 ? index : 0;
  if (files > 1) {
    PLIMSOLL_ASSIGN(at.number, state.next(0, index));
  }
  if (has_extra_) {
    PLIMSOLL_ASSIGN(at.extra, state.next(0, kMost));
  }
  place_ = place;
  earlier_ = index - at.number;
  if (place == files || (at.offset == 0 && at.number == 0)) return {};
  PLIMSOLL_RETURN_IF_ERROR(begin_file(file_at(place)));
  return seek(at);
}

std::string FileStream::whereabouts(const Element& element) const {
  const auto file = static_cast<std::size_t>(element.file);
  if (element.file < 0 || file >= files_.size()) return {};
  return fmt::format("{}, offset {}", files_[file], element.offset);
}

}  // namespace plimsoll::data
