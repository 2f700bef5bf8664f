// Features and labels in two npy files, read row by row as they are asked for.
#pragma once

#include <memory>
#include <string>

#include "data/source.h"
#include "io/npy.h"

namespace plimsoll::data {

class NpySource final : public Source {
 public:
  // Both headers are checked; no data is read.
  static Result<std::unique_ptr<NpySource>> open(
      const std::string& features_path, const std::string& labels_path);

  std::int64_t examples() const override { return examples_; }
  const FieldType& features() const override { return features_.type; }
  const FieldType& labels() const override { return labels_.type; }
  std::int64_t scratch_bytes(DType features_as, DType labels_as) const override;
  Status read(std::span<const std::int64_t> indices, DType features_as,
              void* features, DType labels_as, void* labels,
              std::span<std::byte> scratch) const override;
  std::string describe() const override;

 private:
  struct Field {
    io::NpyFile file;
    FieldType type;
  };
  NpySource(Field features, Field labels, std::int64_t examples);
  static Result<Field> open_field(const std::string& path);
  static Status read_field(const Field& field,
                           std::span<const std::int64_t> indices, DType as,
                           void* out, std::span<std::byte> scratch);
  static Status read_rows(const Field& field, std::int64_t first,
                          std::int64_t rows, DType as, std::byte* out,
                          std::span<std::byte> scratch);

  Field features_;
  Field labels_;
  std::int64_t examples_ = 0;
};

}  // namespace plimsoll::data
