#include "data/streams/lines_stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "data/streams/file_list.h"
#include "io/text_lines.h"

namespace plimsoll::data {
namespace {

constexpr std::int64_t kMostAllowed = std::int64_t{1} << 40;
constexpr std::int64_t kWindowBytes = 256 * kKiB;

class LinesStream final : public FileStream {
 public:
  LinesStream(std::vector<std::string> files, const LinesStreamOptions& options)
      : FileStream(std::move(files), options.files, false),
        reading_(options.reading),
        most_(options.most_line_bytes) {
    spec_ = {{"line", DType::u8, {kVaries}, most_}};
  }

  std::string name() const override { return "lines"; }

 protected:
  void take_memory(Placer& placer) override {
    // Two more for the newline.
    const std::int64_t bytes = io::byte_reader_bytes(
        std::max(most_ + 2, kWindowBytes), reading_.compression);
    memory_ = {placer.take(name(), "read buffer", bytes),
               static_cast<std::size_t>(bytes)};
  }

  Status open(const std::string& path) override {
    at_ = {};
    PLIMSOLL_ASSIGN(auto bytes, io::ByteReader::open(path, memory_, reading_));
    reader_.emplace(std::move(bytes));
    return {};
  }
  void close() override { reader_.reset(); }
  Status rewind() override {
    at_ = {};
    return reader_->seek(0, 1);
  }

  Result<bool> read(Element& out) override {
    io::TextLine line;
    auto got = reader_->next(line);
    if (!got) {
      Error error = std::move(got).error();
      error.message += fmt::format(" (most_line_bytes is {})", most_);
      return error;
    }
    if (!*got) return false;
    at_ = {line.offset, at_.number + 1, 0};
    const auto bytes = static_cast<std::int64_t>(line.text.size());
    if (bytes > most_) {
      return Error{
          ErrorCode::bad_input,
          fmt::format("{}: line {} at offset {} has {} bytes: set "
                      "most_line_bytes, now {}, to that or more",
                      reader_->path(), line.number, line.offset, bytes, most_)};
    }
    out.offset = line.offset;
    out.values[0] = {
        reinterpret_cast<const std::byte*>(line.text.data()), bytes, {bytes}};
    return true;
  }

  Position position() const override { return at_; }

  Status seek(const Position& position) override {
    at_ = position;
    // Lines are numbered from 1: the one that was given last has its number.
    PLIMSOLL_RETURN_IF_ERROR(reader_->seek(position.offset, position.number));
    io::TextLine given;
    PLIMSOLL_RETURN_IF_ERROR(reader_->next(given));
    return {};
  }

 private:
  io::ByteReaderOptions reading_;
  std::int64_t most_;
  std::span<std::byte> memory_;
  std::optional<io::LineReader> reader_;
  // The beginning of the line given last: only reading it tells its end.
  Position at_;
};

}  // namespace

Result<std::unique_ptr<Stream>> lines_stream(
    const LinesStreamOptions& options) {
  PLIMSOLL_ASSIGN(std::vector<std::string> files,
                  list_files(options.files.patterns));
  if (options.most_line_bytes < 1 || options.most_line_bytes > kMostAllowed) {
    return Error{ErrorCode::bad_input,
                 fmt::format("lines of up to {} bytes: 1 to 2^40 are right",
                             options.most_line_bytes)};
  }
  return std::unique_ptr<Stream>(
      std::make_unique<LinesStream>(std::move(files), options));
}

}  // namespace plimsoll::data
