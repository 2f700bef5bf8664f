// What is drawn: families of records, each in several dtypes.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "ops/random_shapes/random_records.h"

namespace plimsoll::ops::testing {

struct RandomKind {
  std::string name;
  RandomRecords* records = nullptr;
  DType dtype = DType::f32;
  int draws = 0;  // as a rule

  // Other shapes in each dtype.
  std::vector<OpRecord> drawn(int count) const;
  // What says its own types stands as it is.
  DType dtype_of(const OpRecord& record) const;
};

// In the names of tests.
inline void PrintTo(const RandomKind& kind, std::ostream* out) {
  *out << kind.name;
}

std::vector<RandomKind> random_kinds();

}  // namespace plimsoll::ops::testing
