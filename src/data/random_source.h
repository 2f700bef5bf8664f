// Examples made from a counter: example i is the same whatever the batch, the
// order or the thread, and nothing is stored.
#pragma once

#include <memory>

#include "data/source.h"

namespace plimsoll::data {

enum class RandomLabels {
  binary,   // f32, 0 or 1, one per example
  uniform,  // f32 in [0, 1), of `label_shape`
  classes,  // i32 in [0, classes), one per example
};

struct RandomSpec {
  std::int64_t examples = 0;
  Shape features;  // of one example: f32, uniform in [0, 1)
  RandomLabels labels = RandomLabels::binary;
  Shape label_shape;
  std::int64_t classes = 0;
  std::uint64_t seed = 1;
};

class RandomSource final : public Source {
 public:
  static Result<std::unique_ptr<RandomSource>> create(const RandomSpec& spec);

  std::int64_t examples() const override { return spec_.examples; }
  const FieldType& features() const override { return features_; }
  const FieldType& labels() const override { return labels_; }
  std::int64_t scratch_bytes(DType, DType) const override { return 0; }
  Status read(std::span<const std::int64_t> indices, DType features_as,
              void* features, DType labels_as, void* labels,
              std::span<std::byte> scratch) const override;
  std::string describe() const override;

 private:
  explicit RandomSource(const RandomSpec& spec);
  void read_labels(std::int64_t example, DType as, std::byte* out) const;

  RandomSpec spec_;
  FieldType features_;
  FieldType labels_;
  std::uint64_t feature_key_ = 0;
  std::uint64_t label_key_ = 0;
};

}  // namespace plimsoll::data
