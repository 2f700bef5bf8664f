// Maps that move pixels of [height, width, ...] fields of any dtype, and
// reshape. Chance is a function of seed, epoch, the element's index and a
// salt: set another salt where two maps should not do the same.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "data/map.h"
#include "data/maps/one_field.h"

namespace plimsoll::data {

struct CropOffset {
  std::int64_t top = 0;
  std::int64_t left = 0;
};
struct CropOptions {
  FieldChoice field = {};
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::optional<CropOffset> at =
      std::nullopt;  // none: the centre, rounded up and left
};
std::unique_ptr<Map> crop(CropOptions options);

struct RandomCropOptions {
  FieldChoice field = {};
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::uint64_t salt = 0;
};
std::unique_ptr<Map> random_crop(RandomCropOptions options);

enum class FlipAxis { left_right, up_down };
struct FlipOptions {
  FieldChoice field = {};
  FlipAxis axis = FlipAxis::left_right;
};
std::unique_ptr<Map> flip(FlipOptions options);

struct RandomFlipOptions {
  FieldChoice field = {};
  FlipAxis axis = FlipAxis::left_right;
  float probability = 0.5f;
  std::uint64_t salt = 0;
};
std::unique_ptr<Map> random_flip(RandomFlipOptions options);

// The same elements in another shape; one extent may be -1: what is left.
// Nothing is copied.
struct ReshapeOptions {
  FieldChoice field = {};
  Extents shape = {};
};
std::unique_ptr<Map> reshape(ReshapeOptions options);

}  // namespace plimsoll::data
