// The user's own arrays, borrowed: they must outlive the source.
#pragma once

#include <memory>

#include "data/source.h"

namespace plimsoll::data {

// `data` holds all examples one after another, row-major.
struct ArrayField {
  const void* data = nullptr;
  FieldType type;  // of one example
};

class ArraySource final : public Source {
 public:
  static Result<std::unique_ptr<ArraySource>> create(std::int64_t examples,
                                                     ArrayField features,
                                                     ArrayField labels);

  std::int64_t examples() const override { return examples_; }
  const FieldType& features() const override { return features_.type; }
  const FieldType& labels() const override { return labels_.type; }
  std::int64_t scratch_bytes(DType, DType) const override { return 0; }
  Status read(std::span<const std::int64_t> indices, DType features_as,
              void* features, DType labels_as, void* labels,
              std::span<std::byte> scratch) const override;
  const void* borrow_features(std::int64_t first, DType as) const override;
  const void* borrow_labels(std::int64_t first, DType as) const override;
  std::string describe() const override;

  // What the user holds for it: counted as `user`, not ours to free.
  std::int64_t declared_user_bytes() const;

 private:
  ArraySource(std::int64_t examples, ArrayField features, ArrayField labels);

  std::int64_t examples_ = 0;
  ArrayField features_;
  ArrayField labels_;
};

}  // namespace plimsoll::data
