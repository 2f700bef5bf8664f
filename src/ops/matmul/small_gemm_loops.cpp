// Compiled once for each instruction-set level, see cmake/PlimsollIsa.cmake.
#include "ops/matmul/small_gemm_body.h"

namespace plimsoll::ops::PLIMSOLL_ISA {

const GemmTables& gemm_tables() {
  static constexpr GemmTables kTables{table_of<float>(), table_of<double>()};
  return kTables;
}

}  // namespace plimsoll::ops::PLIMSOLL_ISA
