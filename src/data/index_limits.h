// What whole numbers of a batch must stay below: a class that the model has no
// output for, or an index that an embedding has no row for, would train to NaN.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "data/element.h"

namespace plimsoll::data {

// Whole numbers of a field that name something of the model's.
struct IndexLimit {
  int field = -1;
  std::int64_t below = 0;  // from 0
  bool classes = true;     // of the model; else rows of an embedding
  // Columns of the field's last axis that it is about.
  std::int64_t begin = 0;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
};

class IndexLimits {
 public:
  // Fields of the limits have fixed shapes.
  IndexLimits(const ElementSpec& spec, const std::vector<IndexLimit>& limits);

  // A value that its limit does not allow.
  struct Wrong {
    IndexLimit limit;
    std::int64_t row = 0;  // of those that were looked at
    std::string value;
  };
  // The first among `rows` rows of a field, which lie as `dtype`: asked before
  // a cast, which would make whole numbers of them.
  std::optional<Wrong> find(std::size_t field, DType dtype, const void* values,
                            std::int64_t rows) const;

 private:
  struct Field {
    std::int64_t width = 1;  // elements of a row
    // The lowest of each column of the last axis; empty: nobody's.
    std::vector<IndexLimit> of_column;
  };
  std::vector<Field> fields_;
};

}  // namespace plimsoll::data
