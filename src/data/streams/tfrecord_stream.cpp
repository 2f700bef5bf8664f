#include "data/streams/tfrecord_stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/units.h"
#include "data/streams/file_list.h"

namespace plimsoll::data {
namespace {

constexpr std::int64_t kMostByDefault = kMiB;
constexpr std::int64_t kMostAllowed = std::int64_t{1} << 40;
// Small records share one read.
constexpr std::int64_t kWindowBytes = 256 * kKiB;

class TfRecordStream final : public FileStream {
 public:
  TfRecordStream(std::vector<std::string> files,
                 const TfRecordStreamOptions& options, std::int64_t most,
                 std::int64_t count)
      : FileStream(std::move(files), options.files, true),
        reading_(options.reading),
        most_(most) {
    spec_ = {{"record", DType::u8, {kVaries}, most}};
    count_ = count;
  }

  std::string name() const override { return "tfrecord"; }

 protected:
  void take_memory(Placer& placer) override {
    const std::int64_t bytes = io::tfrecord_reader_bytes(
        std::max(most_, kWindowBytes), reading_.compression);
    memory_ = {placer.take(name(), "read buffer", bytes),
               static_cast<std::size_t>(bytes)};
  }

  Status open(const std::string& path) override {
    at_ = {};
    PLIMSOLL_ASSIGN(auto reader,
                    io::TfRecordReader::open(path, memory_, reading_));
    reader_.emplace(std::move(reader));
    return {};
  }
  void close() override { reader_.reset(); }
  Status rewind() override {
    at_ = {};
    return reader_->seek(0, 0);
  }

  Result<bool> read(Element& out) override {
    io::TfRecord record;
    auto got = reader_->next(record);
    if (!got) {
      if (reader_->can_continue()) {
        ++at_.number;
        ++at_.extra;
      }
      return std::move(got).error();
    }
    if (!*got) return false;
    const auto bytes = static_cast<std::int64_t>(record.bytes.size());
    at_ = {record.offset + io::kTfRecordFrameBytes + bytes, at_.number + 1, 0};
    if (bytes > most_) {
      return Error{ErrorCode::bad_input,
                   fmt::format("{}: record {} at offset {} has {} bytes: set "
                               "most_record_bytes, now {}, to that or more",
                               reader_->path(), record.number, record.offset,
                               bytes, most_)};
    }
    out.offset = record.offset;
    out.values[0] = {record.bytes.data(), bytes, {bytes}};
    return true;
  }

  Position position() const override { return at_; }

  Status seek(const Position& position) override {
    at_ = position;
    PLIMSOLL_RETURN_IF_ERROR(
        reader_->seek(position.offset, position.number - position.extra));
    // The bad records behind it were told of before.
    for (std::int64_t i = 0; i < position.extra; ++i) {
      io::TfRecord record;
      const auto got = reader_->next(record);
      if (!got && reader_->can_continue()) continue;
      return Error{
          ErrorCode::bad_input,
          fmt::format("{}: the saved position has {} bad records "
                      "from offset {} on, the file has {}",
                      reader_->path(), position.extra, position.offset, i)};
    }
    return {};
  }

 private:
  io::TfRecordOptions reading_;
  std::int64_t most_;
  std::span<std::byte> memory_;
  std::optional<io::TfRecordReader> reader_;
  // Behind the last good record; `extra` bad ones have followed it.
  Position at_;
};

}  // namespace

Result<std::unique_ptr<Stream>> tfrecord_stream(
    const TfRecordStreamOptions& options) {
  PLIMSOLL_ASSIGN(std::vector<std::string> files,
                  list_files(options.files.patterns));
  std::int64_t most = options.most_record_bytes;
  std::int64_t count = kUnknownCount;
  if (most < 0 || most > kMostAllowed) {
    return Error{ErrorCode::bad_input,
                 fmt::format("tfrecord: records of up to {} bytes: 0 (found "
                             "out) to 2^40 are right",
                             most)};
  }
  if (most == 0) {
    count = 0;
    most = 1;
    for (const std::string& file : files) {
      const auto scan = io::scan_tfrecords(file);
      if (scan) {
        most = std::max(most, scan->largest_record_bytes);
        if (count != kUnknownCount) count += scan->records;
        continue;
      }
      // Gzip, or damaged: the latter is told when it is read.
      count = kUnknownCount;
      most = std::max(most, kMostByDefault);
    }
  }
  return std::unique_ptr<Stream>(
      std::make_unique<TfRecordStream>(std::move(files), options, most, count));
}

}  // namespace plimsoll::data
