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

// Threads that share a row, and the moves of each; 0: not counted.
struct RowTeam {
  std::int64_t threads = 32;
  std::int64_t rounds = 0;

  std::int64_t places() const { return threads * rounds; }
  std::int64_t in_block() const { return cuda::kBlockThreads / threads; }
};

// For `rows` rows of n elements in moves of `width`: few idle threads, and
// where rows are many, small teams. Rounds of 0 where `most` moves of each
// thread are too few.
RowTeam share_row(std::int64_t rows, std::int64_t n, std::int64_t width,
                  std::int64_t most,
                  std::int64_t most_threads = cuda::kBlockThreads);

// A loop over rows up to `end`, from `first` on in steps of `step`, as many at
// once as a block has teams; `text` makes row number `row` of its n elements.
// Teams of several warps go in step: one without a row has n = 0, and joins
// with the others.
std::string row_loop(const RowTeam& team, const NormShape& shape,
                     std::string_view first, std::string_view end,
                     std::string_view step, std::string_view text);

// The head of a loop over a thread's j, its moves numbered i where they are
// counted.
std::string each_of_row(const RowTeam& team, const NormShape& shape,
                        std::int64_t width);

// All rows, one after another.
cuda::OpCode row_op(const graph::KernelQuery& query, const NormForm& form,
                    const NormShape& shape, const RowTeam& team,
                    std::string_view text);

// Reads gamma and beta of the channels of number j to gamma.v and beta.v,
// where the op has them, and what then stands for those of channel c + k.
std::string row_parameters_text(const NormForm& form, const RowPlaces& places);
std::string_view row_gamma_text(const NormForm& form);
std::string_view row_beta_text(const NormForm& form);

}  // namespace plimsoll::ops
