// Sums of rows, one table per instruction set.
#pragma once

#include <cstdint>

#include "ops/isa.h"

namespace plimsoll::ops {

template <class T>
struct RowLoops {
  // sum += row
  void (*add)(const T* row, std::int64_t width, T* sum) = nullptr;
};

struct RowTables {
  RowLoops<float> f32;
  RowLoops<double> f64;
};

PLIMSOLL_DECLARE_ISA_TABLE(RowTables, row_tables)

}  // namespace plimsoll::ops
