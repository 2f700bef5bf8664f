// What a training job reads: examples with features and labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/dtype.h"
#include "base/result.h"
#include "base/shape.h"

namespace plimsoll::data {

// One example's part of a set, as it is stored. The shape is fixed; a scalar
// per example has rank 0.
struct FieldType {
  DType dtype = DType::f32;
  Shape shape;

  std::int64_t elements() const { return shape.elements(); }
  std::int64_t bytes() const { return elements() * size_of(dtype); }
  friend bool operator==(const FieldType&, const FieldType&) = default;
};

class Source {
 public:
  virtual ~Source() = default;

  virtual std::int64_t examples() const = 0;
  virtual const FieldType& features() const = 0;
  virtual const FieldType& labels() const = 0;

  // Bytes of slice buffer that read() needs to cast to these types, for any
  // number of examples; the caller plans them and hands them in.
  virtual std::int64_t scratch_bytes(DType features_as,
                                     DType labels_as) const = 0;

  // Writes the examples one after another into `features` and `labels`, cast;
  // a null destination skips that field. Allocates nothing unless it fails;
  // errors name file, offset and example. Calls with different scratch may
  // run at the same time.
  virtual Status read(std::span<const std::int64_t> indices, DType features_as,
                      void* features, DType labels_as, void* labels,
                      std::span<std::byte> scratch) const = 0;

  // Where examples from `first` to the last lie one after another in exactly
  // this type, to be used without a copy; null when they do not.
  virtual const void* borrow_features(std::int64_t /*first*/,
                                      DType /*as*/) const {
    return nullptr;
  }
  virtual const void* borrow_labels(std::int64_t /*first*/,
                                    DType /*as*/) const {
    return nullptr;
  }

  // Ledgered `user` bytes it holds: whole sets in memory.
  virtual std::int64_t resident_bytes() const { return 0; }
  virtual std::string describe() const = 0;
};

}  // namespace plimsoll::data
