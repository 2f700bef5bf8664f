// Rows of layer, rms and group normalization as their CUDA functions go through
// them: where a row's elements lie, and which of them a thread holds.
#pragma once

#include <string>

#include "ops/cuda_text.h"
#include "ops/normalization/norm_form.h"

namespace plimsoll::ops {

// Where the elements of statistic number `row` lie.
struct RowPlaces {
  std::string base;     // its first
  std::string at;       // number j, from there
  std::string channel;  // of number j
  std::int64_t width = 1;
};
RowPlaces row_places(const NormShape& shape, DType dtype);

// [statistics, elements of each].
graph::TensorType rows_of(const NormShape& shape, DType dtype);

// A thread's moves of `width` in a row that `team` threads share.
std::int64_t row_rounds(std::int64_t n, std::int64_t team, std::int64_t width);

// The head of a loop over a thread's j, its moves numbered i where there are
// `rounds`; with 0 they are not counted.
std::string each_of_row(std::int64_t rounds, std::int64_t width);

// Reads gamma and beta of the channels of number j to gamma.v and beta.v,
// where the op has them, and what then stands for those of channel c + k.
std::string row_parameters_text(const NormForm& form, const RowPlaces& places);
std::string_view row_gamma_text(const NormForm& form);
std::string_view row_beta_text(const NormForm& form);

}  // namespace plimsoll::ops
