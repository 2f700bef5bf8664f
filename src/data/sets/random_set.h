// Examples made from a counter: example i is the same whatever the batch, the
// order or the thread, and nothing is stored.
#pragma once

#include <memory>

#include "data/indexed.h"

namespace plimsoll::data {

enum class RandomLabels {
  binary,   // f32, 0 or 1, one per example
  uniform,  // f32 in [0, 1), of `label_shape`
  classes,  // i32 in [0, classes), of `label_shape`
};

struct RandomSpec {
  std::int64_t examples = 0;
  Extents features;                  // of one example: f32, uniform in [0, 1)
  std::int64_t feature_classes = 0;  // not 0: i32 in [0, feature_classes)
  RandomLabels labels = RandomLabels::binary;
  Extents label_shape;
  std::int64_t classes = 0;
  std::uint64_t seed = 1;
};

// Two fields: `features` and `labels`.
class RandomSet final : public Indexed {
 public:
  static Result<std::unique_ptr<RandomSet>> create(const RandomSpec& spec);

  std::string name() const override { return "random"; }
  const ElementSpec& spec() const override { return fields_; }
  std::int64_t size() const override { return spec_.examples; }
  Status gather(std::span<const std::int64_t> numbers,
                std::span<std::byte* const> rows,
                const ReadContext& context) const override;
  // Features that are not classes in bf16, too: rounded, as a cast would.
  bool makes(int field, DType as) const override;
  std::string whereabouts(std::int64_t) const override { return {}; }
  std::string describe() const override;

 private:
  explicit RandomSet(const RandomSpec& spec);
  void make_label(std::int64_t example, std::byte* out) const;

  RandomSpec spec_;
  ElementSpec fields_;
  std::uint64_t feature_key_ = 0;
  std::uint64_t label_key_ = 0;
};

}  // namespace plimsoll::data
