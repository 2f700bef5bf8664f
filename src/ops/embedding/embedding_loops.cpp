// Compiled once for each instruction-set level, see cmake/PlimsollIsa.cmake.
#include "ops/embedding/embedding_loops.h"

namespace plimsoll::ops::PLIMSOLL_ISA {
namespace {

template <class T>
void add(const T* __restrict row, std::int64_t width, T* __restrict sum) {
  for (std::int64_t i = 0; i < width; ++i) sum[i] += row[i];
}

}  // namespace

RowTables row_tables() { return {{add<float>}, {add<double>}}; }

}  // namespace plimsoll::ops::PLIMSOLL_ISA
