// Maps over numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/dtype.h"
#include "data/map.h"
#include "data/maps/one_field.h"

namespace plimsoll::data {

// Any dtype to any other, as io/convert.h does.
struct CastOptions {
  FieldChoice field = {};
  DType to = DType::f32;
};
std::unique_ptr<Map> cast(CastOptions options);

// x * factor + offset, in f32, of any dtype.
struct ScaleOptions {
  FieldChoice field = {};
  float factor = 1;
  float offset = 0;
};
std::unique_ptr<Map> scale(ScaleOptions options);

// (x - mean) / deviation, in f32, of any dtype. One number for all, or one for
// each of the last axis.
struct NormaliseOptions {
  FieldChoice field = {};
  std::vector<float> mean = {0};
  std::vector<float> deviation = {1};
};
std::unique_ptr<Map> normalise(NormaliseOptions options);

// Whole numbers from 0 to count - 1 become rows of f32: one 1, zeros else. The
// shape gets a last axis of `count`.
struct OneHotOptions {
  FieldChoice field = {};
  std::int64_t count = 0;
};
std::unique_ptr<Map> one_hot(OneHotOptions options);

}  // namespace plimsoll::data
