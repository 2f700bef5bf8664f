#include "data/streams/tar_stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/units.h"
#include "data/check.h"
#include "data/streams/file_list.h"
#include "io/tar.h"

namespace plimsoll::data {
namespace {

constexpr std::int64_t kMostAllowed = std::int64_t{1} << 40;
constexpr std::int64_t kMostInGzip = kMiB;
// Small files share one read.
constexpr std::int64_t kWindowBytes = 256 * kKiB;

const io::TarPart* part_of(const io::TarGroup& group,
                           const std::string& extension) {
  for (int i = 0; i < group.count; ++i) {
    const io::TarPart& part = group.parts[static_cast<std::size_t>(i)];
    if (part.extension == extension) return &part;
  }
  return nullptr;
}

class TarStream final : public FileStream, private io::TarTarget {
 public:
  TarStream(std::vector<std::string> files, const TarStreamOptions& options,
            ElementSpec spec, std::int64_t count)
      : FileStream(std::move(files), options.files, false),
        reading_(options.reading) {
    spec_ = std::move(spec);
    count_ = count;
  }

  std::string name() const override { return "tar"; }

 protected:
  void take_memory(Placer& placer) override {
    const std::int64_t bytes =
        io::tar_reader_bytes(kWindowBytes, reading_.compression);
    memory_ = {placer.take(name(), "read buffer", bytes),
               static_cast<std::size_t>(bytes)};
    for (std::size_t i = 0; i < spec_.size(); ++i) {
      buffers_[i] = placer.take(name(), spec_[i].name, spec_[i].most_bytes);
    }
  }

  Status open(const std::string& path) override {
    number_ = 0;
    PLIMSOLL_ASSIGN(auto reader, io::TarReader::open(path, memory_, reading_));
    reader_.emplace(std::move(reader));
    return {};
  }
  void close() override { reader_.reset(); }
  Status rewind() override { return seek({}); }

  Result<bool> read(Element& out) override {
    out.offset = reader_->position();
    io::TarGroup group;
    PLIMSOLL_ASSIGN(const bool got, reader_->next_group(group, this));
    if (!got) return false;
    ++number_;
    for (std::size_t i = 0; i < spec_.size(); ++i) {
      const io::TarPart* const part = part_of(group, spec_[i].name);
      if (part == nullptr) {
        return bad(group, out.offset, fmt::format("has no .{}", spec_[i].name));
      }
      if (part->size_bytes > spec_[i].most_bytes) {
        return bad(
            group, out.offset,
            fmt::format("has a .{} of {} bytes: set most_record_bytes, "
                        "now {}, to that or more",
                        spec_[i].name, part->size_bytes, spec_[i].most_bytes));
      }
      out.values[i] = {buffers_[i], part->size_bytes, {part->size_bytes}};
    }
    return true;
  }

  Position position() const override {
    return {reader_->position(), number_, 0};
  }
  Status seek(const Position& position) override {
    reader_->seek(position.offset);
    number_ = position.number;
    return {};
  }

 private:
  std::byte* room_for(std::string_view extension,
                      std::int64_t size_bytes) override {
    for (std::size_t i = 0; i < spec_.size(); ++i) {
      if (spec_[i].name != extension) continue;
      return size_bytes <= spec_[i].most_bytes ? buffers_[i] : nullptr;
    }
    return nullptr;
  }

  Error bad(const io::TarGroup& group, std::int64_t offset,
            const std::string& what) const {
    return {ErrorCode::bad_input,
            fmt::format("{}: offset {}: sample \"{}\" {}", reader_->path(),
                        offset, group.key, what)};
  }

  io::ByteReaderOptions reading_;
  std::span<std::byte> memory_;
  std::array<std::byte*, kMostFields> buffers_{};
  std::optional<io::TarReader> reader_;
  std::int64_t number_ = 0;
};

FieldSpec field_of(std::string_view extension, std::int64_t most) {
  return {std::string(extension), DType::u8, {kVaries}, most};
}

// Goes from header to header of a plain archive for the largest file of each
// field; of another only as far as the first sample, if at all. Returns how
// many samples there are.
Result<std::int64_t> scan(const std::string& file,
                          const TarStreamOptions& options, ElementSpec& spec) {
  // Little is read for each header.
  std::vector<std::byte> memory(
      static_cast<std::size_t>(io::tar_reader_bytes(4 * kKiB)));
  PLIMSOLL_ASSIGN(auto reader,
                  io::TarReader::open(file, memory, options.reading));
  const std::int64_t given = options.most_record_bytes;
  const bool all = given == 0 && !reader.is_gzip();
  std::int64_t samples = 0;
  while (all || spec.empty()) {
    io::TarGroup group;
    PLIMSOLL_ASSIGN(const bool got, reader.next_group(group));
    if (!got) return samples;
    ++samples;
    const std::span parts(group.parts.data(),
                          static_cast<std::size_t>(group.count));
    if (spec.empty()) {
      for (const io::TarPart& part : parts) {
        spec.push_back(field_of(part.extension, 1));
      }
    }
    for (FieldSpec& field : spec) {
      const io::TarPart* const part = part_of(group, field.name);
      if (!all || part == nullptr) continue;
      field.most_bytes = std::max(field.most_bytes, part->size_bytes);
    }
  }
  for (FieldSpec& field : spec) {
    field.most_bytes =
        std::max(field.most_bytes, given > 0 ? given : kMostInGzip);
  }
  return kUnknownCount;
}

}  // namespace

Result<std::unique_ptr<Stream>> tar_stream(const TarStreamOptions& options) {
  PLIMSOLL_ASSIGN(std::vector<std::string> files,
                  list_files(options.files.patterns));
  const std::int64_t given = options.most_record_bytes;
  if (given < 0 || given > kMostAllowed) {
    return Error{ErrorCode::bad_input,
                 fmt::format("tar: files of up to {} bytes: 0 (found out) to "
                             "2^40 are right",
                             given)};
  }
  ElementSpec spec;
  for (const std::string& extension : options.extensions) {
    spec.push_back(field_of(extension, std::max<std::int64_t>(1, given)));
  }
  std::int64_t count = given > 0 ? kUnknownCount : 0;
  for (const std::string& file : files) {
    if (given > 0 && !spec.empty()) break;
    PLIMSOLL_ASSIGN(const std::int64_t samples, scan(file, options, spec));
    const bool known = count != kUnknownCount && samples != kUnknownCount;
    count = known ? count + samples : kUnknownCount;
  }
  PLIMSOLL_RETURN_IF_ERROR(check_spec("tar", spec));
  return std::unique_ptr<Stream>(std::make_unique<TarStream>(
      std::move(files), options, std::move(spec), count));
}

}  // namespace plimsoll::data
