#include "data/streams/csv_stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "data/check.h"
#include "data/streams/file_list.h"

namespace plimsoll::data {
namespace {

constexpr std::int64_t kMostAllowed = std::int64_t{1} << 40;
constexpr std::int64_t kWindowBytes = 256 * kKiB;

DType dtype_of(io::CsvType type) {
  switch (type) {
    case io::CsvType::f32:
      return DType::f32;
    case io::CsvType::f64:
      return DType::f64;
    case io::CsvType::i32:
      return DType::i32;
    case io::CsvType::i64:
      return DType::i64;
    case io::CsvType::text:
      break;
  }
  return DType::u8;
}

// Where a column's value goes: a place within a field.
struct Target {
  int field = -1;  // -1: the column is passed over
  std::int64_t offset = 0;
};

struct Layout {
  ElementSpec spec;
  io::CsvOptions csv;  // as declared for every file
  std::vector<Target> targets;
};

std::int64_t window_bytes(const CsvStreamOptions& options) {
  return io::byte_reader_bytes(std::max(options.most_row_bytes, kWindowBytes),
                               options.reading.compression);
}

class CsvStream final : public FileStream {
 public:
  CsvStream(std::vector<std::string> files, const CsvStreamOptions& options,
            Layout layout)
      : FileStream(std::move(files), options.files, true),
        reading_(options.reading),
        window_bytes_(window_bytes(options)),
        csv_(std::move(layout.csv)),
        targets_(std::move(layout.targets)),
        to_(targets_.size()) {
    spec_ = std::move(layout.spec);
  }

  std::string name() const override { return "csv"; }

 protected:
  void take_memory(Placer& placer) override {
    memory_ = {placer.take(name(), "read buffer", window_bytes_),
               static_cast<std::size_t>(window_bytes_)};
    for (std::size_t i = 0; i < spec_.size(); ++i) {
      if (is_text(i)) continue;
      buffers_[i] = placer.take(name(), spec_[i].name, spec_[i].most_bytes);
    }
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      to_[i] = nullptr;
      if (targets_[i].field < 0 || memory_.data() == nullptr) continue;
      const auto field = static_cast<std::size_t>(targets_[i].field);
      to_[i] = is_text(field)
                   ? static_cast<void*>(&texts_[field])
                   : static_cast<void*>(buffers_[field] + targets_[i].offset);
    }
  }

  Status open(const std::string& path) override {
    PLIMSOLL_ASSIGN(auto bytes, io::ByteReader::open(path, memory_, reading_));
    PLIMSOLL_ASSIGN(auto reader, io::CsvReader::open(std::move(bytes), csv_));
    reader_.emplace(std::move(reader));
    start_ = reader_->position();
    return {};
  }
  void close() override { reader_.reset(); }
  Status rewind() override { return reader_->seek(start_); }

  Result<bool> read(Element& out) override {
    out.offset = reader_->position().offset;
    PLIMSOLL_ASSIGN(const bool got, reader_->next(to_));
    if (!got) return false;
    for (std::size_t i = 0; i < spec_.size(); ++i) {
      if (!is_text(i)) {
        out.values[i] = {buffers_[i], spec_[i].most_bytes, spec_[i].shape};
        continue;
      }
      const auto bytes = static_cast<std::int64_t>(texts_[i].size());
      out.values[i] = {
          reinterpret_cast<const std::byte*>(texts_[i].data()), bytes, {bytes}};
    }
    return true;
  }

  Position position() const override {
    const auto at = reader_->position();
    return {at.offset, at.row, at.line};
  }
  Status seek(const Position& position) override {
    return reader_->seek({position.offset, position.extra, position.number});
  }

 private:
  bool is_text(std::size_t field) const {
    return spec_[field].dtype == DType::u8;
  }

  io::ByteReaderOptions reading_;
  std::int64_t window_bytes_;
  io::CsvOptions csv_;
  std::vector<Target> targets_;
  std::vector<void*> to_;  // for each column
  std::array<std::byte*, kMostFields> buffers_{};
  std::array<std::string_view, kMostFields> texts_;
  std::span<std::byte> memory_;
  std::optional<io::CsvReader> reader_;
  io::CsvReader::Position start_;  // behind the header
};

Result<std::size_t> column_named(const std::vector<io::CsvColumn>& columns,
                                 const std::string& name,
                                 const std::string& path) {
  std::string known;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == name) return i;
    if (i < 20) known += (i == 0 ? "" : ", ") + columns[i].name;
  }
  return Error{ErrorCode::bad_input,
               fmt::format("{}: has no column '{}'; it has {}{}", path, name,
                           known, columns.size() > 20 ? ", ..." : "")};
}

// A field for every column.
Status lay_out_columns(const CsvStreamOptions& options, Layout& layout) {
  for (std::size_t i = 0; i < layout.csv.columns.size(); ++i) {
    const io::CsvColumn& column = layout.csv.columns[i];
    layout.targets[i] = {static_cast<int>(i), 0};
    layout.spec.push_back(
        column.type == io::CsvType::text
            ? FieldSpec{column.name,
                        DType::u8,
                        {kVaries},
                        std::max(options.most_row_bytes, kWindowBytes)}
            : fixed_field(column.name, dtype_of(column.type), {}));
  }
  return check_spec("csv", layout.spec);
}

// Chosen columns side by side, and the label.
Status lay_out_packed(const CsvStreamOptions& options, const std::string& path,
                      Layout& layout) {
  auto& columns = layout.csv.columns;
  std::vector<std::size_t> chosen;
  std::optional<std::size_t> label;
  if (!options.label.empty()) {
    PLIMSOLL_ASSIGN(label, column_named(columns, options.label, path));
  }
  for (const std::string& name : options.features) {
    PLIMSOLL_ASSIGN(const std::size_t column,
                    column_named(columns, name, path));
    const bool twice =
        std::find(chosen.begin(), chosen.end(), column) != chosen.end();
    if (twice || label == column) {
      return Error{ErrorCode::bad_input,
                   fmt::format("csv: column '{}' is chosen twice", name)};
    }
    chosen.push_back(column);
  }
  for (std::size_t i = 0; options.features.empty() && i < columns.size(); ++i) {
    if (label != i) chosen.push_back(i);
  }
  if (chosen.empty()) {
    return Error{ErrorCode::bad_input,
                 fmt::format("{}: has no column beside the label", path)};
  }
  const DType as = dtype_of(options.features_as);
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    io::CsvColumn& column = columns[chosen[k]];
    if (column.type == io::CsvType::text) {
      return Error{ErrorCode::bad_input,
                   fmt::format("{}: column '{}' holds text, which cannot be a "
                               "feature: choose the columns with numbers",
                               path, column.name)};
    }
    column.type = options.features_as;
    layout.targets[chosen[k]] = {0, static_cast<std::int64_t>(k) * size_of(as)};
  }
  layout.spec.push_back(
      fixed_field("features", as, {static_cast<std::int64_t>(chosen.size())}));
  if (label) {
    columns[*label].type = options.label_as;
    layout.targets[*label] = {1, 0};
    layout.spec.push_back(
        fixed_field("labels", dtype_of(options.label_as), {}));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Stream>> csv_stream(const CsvStreamOptions& options) {
  PLIMSOLL_ASSIGN(std::vector<std::string> files,
                  list_files(options.files.patterns));
  const bool floats = options.features_as == io::CsvType::f32 ||
                      options.features_as == io::CsvType::f64;
  if (options.most_row_bytes < 1 || options.most_row_bytes > kMostAllowed ||
      !floats || options.label_as == io::CsvType::text) {
    return Error{
        ErrorCode::bad_input,
        fmt::format("csv: rows of up to {} bytes, features {}, labels "
                    "{}: 1 to 2^40 bytes, f32 or f64, and numbers are "
                    "right",
                    options.most_row_bytes, io::name_of(options.features_as),
                    io::name_of(options.label_as))};
  }
  Layout layout;
  layout.csv = options.csv;
  {
    std::vector<std::byte> window(
        static_cast<std::size_t>(window_bytes(options)));
    PLIMSOLL_ASSIGN(auto bytes,
                    io::ByteReader::open(files[0], window, options.reading));
    PLIMSOLL_ASSIGN(const auto reader,
                    io::CsvReader::open(std::move(bytes), options.csv));
    layout.csv.columns = reader.columns();
    layout.csv.header =
        reader.has_header() ? io::CsvHeader::yes : io::CsvHeader::no;
  }
  layout.targets.resize(layout.csv.columns.size());
  const bool packed = !options.label.empty() || !options.features.empty();
  PLIMSOLL_RETURN_IF_ERROR(packed ? lay_out_packed(options, files[0], layout)
                                  : lay_out_columns(options, layout));
  return std::unique_ptr<Stream>(std::make_unique<CsvStream>(
      std::move(files), options, std::move(layout)));
}

}  // namespace plimsoll::data
