// One vector register, whatever the file is compiled for. Everything here has
// internal linkage: the same names mean other code in each file, and the
// linker must never merge them.
#pragma once

#if defined(__AVX512F__) && defined(__AVX512VL__)
#include "ops/simd/simd_avx512.h"
#elif defined(__AVX2__) && defined(__FMA__)
#include "ops/simd/simd_avx2.h"
#else
#include "ops/simd/simd_baseline.h"
#endif
