#include "data/streams/tar_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "data/check.h"
#include "data/streams/file_list.h"
#include "io/tar.h"

namespace plimsoll::data {
namespace {

constexpr std::int64_t kMostAllowed = std::int64_t{1} << 40;

const io::TarPart* part_of(const io::TarGroup& group,
                           const std::string& extension) {
  for (int i = 0; i < group.count; ++i) {
    const io::TarPart& part = group.parts[static_cast<std::size_t>(i)];
    if (part.extension == extension) return &part;
  }
  return nullptr;
}

class TarStream final : public FileStream {
 public:
  TarStream(std::vector<std::string> files, const TarStreamOptions& options,
            ElementSpec spec, std::int64_t count)
      : FileStream(std::move(files), options.files, false) {
    spec_ = std::move(spec);
    count_ = count;
  }

  std::string name() const override { return "tar"; }

  void place(Placer& placer) override {
    for (std::size_t i = 0; i < spec_.size(); ++i) {
      buffers_[i] = placer.take(name(), spec_[i].name, spec_[i].most_bytes);
    }
  }

 protected:
  Status open(const std::string& path) override {
    number_ = 0;
    PLIMSOLL_ASSIGN(auto reader, io::TarReader::open(path));
    reader_.emplace(std::move(reader));
    return {};
  }
  void close() override { reader_.reset(); }

  Result<bool> read(Element& out) override {
    out.offset = reader_->position();
    io::TarGroup group;
    PLIMSOLL_ASSIGN(const bool got, reader_->next_group(group));
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
      PLIMSOLL_RETURN_IF_ERROR(reader_->file().read_at(
          part->offset,
          {buffers_[i], static_cast<std::size_t>(part->size_bytes)}));
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
  Error bad(const io::TarGroup& group, std::int64_t offset,
            const std::string& what) const {
    return {ErrorCode::bad_input,
            fmt::format("{}: offset {}: sample \"{}\" {}",
                        reader_->file().path(), offset, group.key, what)};
  }

  std::array<std::byte*, kMostFields> buffers_{};
  std::optional<io::TarReader> reader_;
  std::int64_t number_ = 0;
};

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
  const auto add_field = [&](std::string extension) {
    const auto most = std::max<std::int64_t>(1, given);
    spec.push_back({std::move(extension), DType::u8, {kVaries}, most});
  };
  for (const std::string& extension : options.extensions) add_field(extension);
  std::int64_t count = 0;
  for (const std::string& file : files) {
    if (given > 0 && !spec.empty()) break;
    PLIMSOLL_ASSIGN(auto reader, io::TarReader::open(file));
    io::TarGroup group;
    for (;;) {
      PLIMSOLL_ASSIGN(const bool got, reader.next_group(group));
      if (!got) break;
      ++count;
      const bool first = spec.empty();
      for (int i = 0; first && i < group.count; ++i) {
        const auto& part = group.parts[static_cast<std::size_t>(i)];
        add_field(std::string(part.extension));
      }
      if (given > 0) break;
      for (FieldSpec& field : spec) {
        const io::TarPart* const part = part_of(group, field.name);
        if (part == nullptr) continue;
        field.most_bytes = std::max(field.most_bytes, part->size_bytes);
      }
    }
  }
  PLIMSOLL_RETURN_IF_ERROR(check_spec("tar", spec));
  return std::unique_ptr<Stream>(
      std::make_unique<TarStream>(std::move(files), options, std::move(spec),
                                  given > 0 ? kUnknownCount : count));
}

}  // namespace plimsoll::data
