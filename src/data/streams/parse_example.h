// tf.train.Example records become fields: a map, so that several threads parse.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/map.h"
#include "io/example.h"

namespace plimsoll::data {

// A feature and the field it becomes: floats f32, int64s i64, bytes u8.
struct ExampleField {
  std::string name;
  io::FeatureKind kind = io::FeatureKind::floats;
  // Of the field. [kVaries]: as many as the record has, up to `most`; bytes
  // are one value and always of [kVaries].
  Extents shape;
  std::int64_t most = 0;  // values, or bytes; 0 for bytes: as in a record
};

// Takes elements whose first field is the record.
Result<std::shared_ptr<Map>> parse_example(std::vector<ExampleField> fields);

}  // namespace plimsoll::data
