// Tables of loops that cmake/PlimsollIsa.cmake compiles once for each
// instruction-set level.
#pragma once

#include "ops/simd/isa.h"

// Declares `Table name();` for each level and `Table pick_name();` for the
// best one here. The loops' file defines name() in namespace PLIMSOLL_ISA.
#if defined(__x86_64__)
#define PLIMSOLL_DECLARE_ISA_TABLE(Table, name) \
  namespace isa_baseline {                      \
  Table name();                                 \
  }                                             \
  namespace isa_v3 {                            \
  Table name();                                 \
  }                                             \
  namespace isa_v4 {                            \
  Table name();                                 \
  }                                             \
  inline Table pick_##name() {                  \
    switch (best_isa()) {                       \
      case Isa::v4:                             \
        return isa_v4::name();                  \
      case Isa::v3:                             \
        return isa_v3::name();                  \
      default:                                  \
        return isa_baseline::name();            \
    }                                           \
  }
#else
#define PLIMSOLL_DECLARE_ISA_TABLE(Table, name) \
  namespace isa_baseline {                      \
  Table name();                                 \
  }                                             \
  inline Table pick_##name() { return isa_baseline::name(); }
#endif
