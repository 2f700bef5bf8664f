// Work for a CUDA device as plain values: source texts, and work of libraries.
// Nothing here needs CUDA, so that plans are made, and looked at, anywhere.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"

namespace plimsoll::cuda {

// Of every block of a generated kernel: results never depend on the number of
// blocks, and this number never changes.
inline constexpr int kBlockThreads = 512;

// Of a kernel: what fits into its parameters, with room to spare.
inline constexpr int kMostPointers = 256;

// Of every kernel, behind those: a word of the host's, or null, and the number
// that the kernel writes there as it starts. What fails has a name by it.
inline constexpr int kMarkPointers = 2;

// Part of an op as a device function that any number of blocks can share:
//   void NAME(const IN0* in0, const IN1* in1, ..., OUT0* out0, ...,
//             u64 n0, ..., unsigned char* scratch, int block, int blocks)
//   { BODY }
// All threads of each block call it. Several functions are put into one
// kernel, one after the other in one block, or beside each other in several.
struct Function {
  std::string body;
  std::vector<DType> inputs;   // element types of the op's inputs
  std::vector<DType> outputs;  // and of its outputs
  // Bits that are handed over at each launch rather than written into the
  // body: functions that differ in nothing else are one kernel.
  std::vector<std::uint64_t> numbers = {};
  std::int64_t blocks = 1;  // that keep the device busy
  // About what a single block takes: decides what is worth merging.
  double one_block_seconds = 0;
};

// Where an operand of a library lies: an input or output of the op by its
// number, or the op's scratch, from a multiple of 64 bytes on.
struct Operand {
  enum class Of : std::uint8_t { input, output, scratch };
  Of of = Of::input;
  int number = 0;
  std::int64_t offset_bytes = 0;
  friend bool operator==(const Operand&, const Operand&) = default;
};

// out[b] = a[b] * b[b] (+ bias, then relu), row-major; sizes in elements.
struct Product {
  DType operands = DType::f32;
  DType output = DType::f32;
  bool tf32 = false;  // f32 operands may be rounded to tf32
  std::int64_t batch = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool transpose_a = false;  // a lies as [k, m]
  bool transpose_b = false;  // b lies as [n, k]
  // Elements from one stored row to the next; 0: as many as it has.
  std::int64_t a_row = 0;
  std::int64_t b_row = 0;
  std::int64_t out_row = 0;
  std::int64_t a_batch = 0;  // elements from one batch to the next; 0: shared
  std::int64_t b_batch = 0;
  bool bias = false;  // the third input, n values
  bool relu = false;
  bool accumulate = false;           // is added to what is there
  std::int64_t workspace_bytes = 0;  // the most it may use, of scratch
  std::int64_t workspace_offset_bytes = 0;
  Operand a_at = {Operand::Of::input, 0};
  Operand b_at = {Operand::Of::input, 1};
  Operand out_at = {Operand::Of::output, 0};
  friend bool operator==(const Product&, const Product&) = default;
};

// A convolution of images that lie channels-last, sums in f32. Of x, w and y
// the one that `kind` makes is written, the other two are read.
struct Convolution {
  enum class Kind : std::uint8_t { forward, data_grad, weight_grad };
  Kind kind = Kind::forward;
  DType dtype = DType::f32;         // f32, bf16 or f16
  bool tf32 = false;                // f32 operands may be rounded to tf32
  std::array<std::int64_t, 4> x{};  // [B, H, W, C]
  std::array<std::int64_t, 4> w{};  // [O, KH, KW, C / groups]
  std::array<std::int64_t, 4> y{};  // [B, h, w, O]
  std::array<std::int64_t, 2> strides{1, 1};
  std::array<std::int64_t, 2> dilations{1, 1};
  std::array<std::int64_t, 4> padding{};  // top, bottom, left, right
  std::int64_t workspace_bytes = 0;       // the most it may use, of scratch
  std::int64_t workspace_offset_bytes = 0;
  Operand x_at = {Operand::Of::input, 0};
  Operand w_at = {Operand::Of::input, 1};
  Operand y_at = {Operand::Of::output, 0};
  friend bool operator==(const Convolution&, const Convolution&) = default;
};

// Attention of heads that lie as [B, S, N, D], without a mask but the causal
// one; sums in f32. Inputs and outputs are those of the op.
struct Attention {
  bool backward = false;
  DType dtype = DType::bf16;  // or f16
  std::int64_t batch = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t width = 0;
  double scale = 1;
  bool causal = false;
  // Of one launch: heads of some examples, or some heads of one. All use the
  // same workspace.
  std::int64_t part_batch = 0;
  std::int64_t part_heads = 0;
  std::int64_t workspace_bytes = 0;  // the most a launch may use, of scratch
  // In scratch, backward: room for a number of each of a launch's queries.
  std::int64_t levels_offset_bytes = 0;
  friend bool operator==(const Attention&, const Attention&) = default;
};

// Normalization of a batch's channels or of rows, with gamma and beta in f32.
// Inputs and outputs are those of the op, but that the variance of a batch is
// left to a function.
struct Normalization {
  enum class Kind : std::uint8_t { batch, layer, rms };
  Kind kind = Kind::batch;
  bool backward = false;
  DType dtype = DType::bf16;        // or f16
  std::array<std::int64_t, 4> x{};  // [B, H, W, C], of rows [B, 1, 1, C]
  double epsilon = 0;
  std::int64_t workspace_bytes = 0;  // the most it may use, of scratch
  friend bool operator==(const Normalization&, const Normalization&) = default;
};

// Back from averages of windows to the images, padding not counted. Inputs and
// outputs are those of the op.
struct AveragePoolGrad {
  DType dtype = DType::bf16;             // or f16
  std::array<std::int64_t, 4> images{};  // [B, H, W, C]
  std::array<std::int64_t, 4> result{};  // [B, h, w, C]
  std::array<std::int64_t, 2> window{1, 1};
  std::array<std::int64_t, 2> strides{1, 1};
  std::array<std::int64_t, 4> padding{};  // top, bottom, left, right
  std::int64_t workspace_bytes = 0;       // the most it may use, of scratch
  friend bool operator==(const AveragePoolGrad&,
                         const AveragePoolGrad&) = default;
};

using Stage = std::variant<Function, Product, Convolution, Attention,
                           Normalization, AveragePoolGrad>;

// One op at fixed shapes. Its stages run in order; each is given all of the
// op's inputs, outputs and scratch.
struct OpCode {
  // Everything that decides rounding: one line of the numerics key.
  std::string name;
  std::int64_t scratch_bytes = 0;
  // What its parts take that wait for each other, whatever the device's rates.
  double least_seconds = 0;
  bool matrix_units = false;  // its functions multiply by them
  std::vector<Stage> stages;
};

}  // namespace plimsoll::cuda
