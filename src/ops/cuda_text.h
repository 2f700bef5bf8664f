// What the families' CUDA files share: texts with gaps to fill, names of types,
// exact numbers, and functions with an estimate of their time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda_code.h"
#include "graph/kernel_catalog.h"
#include "ops/cuda_kernels.h"

namespace plimsoll::ops {

struct CudaGap {
  CudaGap(std::string_view gap, std::string_view text)
      : name(gap), value(text) {}
  CudaGap(std::string_view gap, std::int64_t number)
      : name(gap), value(std::to_string(number)) {}
  std::string_view name;
  std::string value;
};
// `text` with every $name replaced; others stay, for a text around it.
std::string cuda_text(std::string_view text,
                      std::initializer_list<CudaGap> gaps);

// Its name in the prelude.
std::string_view cuda_type(DType dtype);
// The value rounded to `compute` (f32 or f64), exactly.
std::string cuda_number(DType compute, double value);

// Numbers that loops change, as texts of a body: written into it or, where the
// settings say so, the names under which they are handed over.
class CudaNumbers {
 public:
  explicit CudaNumbers(const CudaSettings& settings)
      : late_(settings.late_numbers) {}

  // Of type `compute`, as cuda_number() writes it.
  std::string number(DType compute, double value);
  std::string word(std::uint64_t value);  // a u64
  // Into the op's function, which is its only stage.
  cuda::OpCode in(cuda::OpCode code) &&;

 private:
  std::string handed_over(std::uint64_t bits);

  bool late_;
  std::vector<std::uint64_t> values_;
};

// The type that indexes so many elements.
std::string_view cuda_index(std::int64_t elements);

struct CudaAxis {
  std::int64_t extent = 1;
  std::int64_t stride = 0;  // in elements
};
// The offset of the combination number `index` of axes, outermost first.
std::string cuda_offset(const std::vector<CudaAxis>& axes,
                        std::string_view index);

// Most elements of `bytes` each that are moved at once, 16 bytes at the most,
// so that a whole number of moves makes a run.
std::int64_t cuda_width(std::int64_t bytes, std::int64_t run);
// Smallest power of two from `n` on.
std::int64_t cuda_power_of_two(std::int64_t n);

// Blocks for work of so many blocks: more than a device holds at once share
// it in rounds.
std::int64_t cuda_blocks(std::int64_t work);
std::int64_t cuda_blocks_of_threads(std::int64_t threads);

// A function of the op's inputs and outputs.
cuda::Function cuda_function(const graph::KernelQuery& query, std::string body,
                             std::int64_t blocks, const graph::Cost& cost);
// An op of one function with the op's own cost; nothing to do: no body.
cuda::OpCode cuda_op(const graph::KernelQuery& query, std::string name,
                     std::string body, std::int64_t blocks);

}  // namespace plimsoll::ops
