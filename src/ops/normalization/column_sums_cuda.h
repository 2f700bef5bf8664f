// Sums down the rows of [rows, channels] on CUDA: blocks take tiles of
// channels and parts of the rows, and the parts are joined by another function.
#pragma once

#include <string>

#include "ops/cuda_text.h"
#include "ops/normalization/norm_form.h"

namespace plimsoll::ops {

// Blocks that fill an H200, two on each of its multiprocessors.
inline constexpr std::int64_t kBusyBlocks = 264;

// By the shape alone.
struct ColumnCut {
  std::int64_t rows = 0;
  std::int64_t channels = 0;
  std::int64_t team = 32;  // channels of a tile; a block's threads share rows
  std::int64_t parts = 1;
  std::int64_t part = 0;  // rows of a part
  std::int64_t tasks() const { return (channels + team - 1) / team * parts; }
  std::string name() const;  // what decides the order of sums
};
ColumnCut cut_columns(std::int64_t rows, std::int64_t channels);

// Types T, C, I and P that all functions of an op use: stored, computed in,
// indices, and of gamma and beta.
std::string norm_types_text(const graph::KernelQuery& query,
                            const NormForm& form, const NormShape& shape);
// gamma[c] in C, or 1; beta[c] or 0.
std::string gamma_text(const NormForm& form);
std::string beta_text(const NormForm& form);

// `down` joins the values of a channel's threads, by halves.
std::string down_text(const ColumnCut& cut);
// Writes the sums of dy and of dy times normalized x, of each channel's parts,
// to scratch: [2, channels, parts] of C.
std::string gradient_sums_text(const NormForm& form, const NormShape& shape,
                               const ColumnCut& cut, double epsilon,
                               DType compute);
// Joins these to `sum` and `dot` of channel c; one thread then does `text`.
std::string join_sums_text(const ColumnCut& cut, const std::string& text);
// Writes dbeta or dgamma of channel c, where the op has that output.
std::string write_sum_text(int output, std::string_view value);
// Where there are no rows: sums are 0, and what is measured is NaN.
cuda::OpCode no_rows_code(const graph::KernelQuery& query, const NormForm& form,
                          const NormShape& shape);

}  // namespace plimsoll::ops
