#include "ops/attention/attention_library_cuda.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/units.h"

namespace plimsoll::ops {
namespace {

// Up to so many products a function of ours costs less than the library.
constexpr double kSmallAttention = 1 << 24;
// What its kernels take: elements of a head, and positions.
constexpr std::int64_t kWidthGrain = 8;
constexpr std::int64_t kMostWidth = 128;
constexpr std::int64_t kLeastPositions = 64;

// Numbers that it may count elements in.
constexpr std::int64_t kMostElements = (std::int64_t{1} << 31) - 1;

// Backward lets its slopes lie in memory, in tiles, so that dq is summed in one
// order. A launch takes a part of the heads, with a block for each tile of
// keys: as few as keep a large device busy, and not so many that slopes need
// more than twice the memory of the operands. So memory is linear in the
// positions. At GPT-2's shape on an H200 (16 x 1,024, 12 heads of 64) 192
// blocks with 49 MiB take 544 us, 384 with 97 take 429, 768 with 193 take 357,
// all at once, 385 MiB, 316.
constexpr std::int64_t kSlopeTile = 64;
constexpr std::int64_t kKeyTile = 128;
constexpr std::int64_t kBusyBlocks = 512;
constexpr std::int64_t kLeastBlocks = 128;
constexpr std::int64_t kFewSlopeBytes = 64 * kMiB;
constexpr std::int64_t kSpareBytes = kMiB;

bool suits_library(const AttentionShape& shape, DType dtype) {
  const double products =
      static_cast<double>(shape.batch * shape.heads * shape.width) *
      shape.pairs();
  const std::int64_t elements = shape.batch * shape.heads * shape.width *
                                std::max(shape.queries, shape.keys);
  return size_of(dtype) == 2 && !shape.mask && products > kSmallAttention &&
         elements <= kMostElements && shape.width % kWidthGrain == 0 &&
         shape.width <= kMostWidth && shape.queries >= kLeastPositions &&
         shape.keys >= kLeastPositions &&
         (!shape.causal || shape.queries == shape.keys);
}

std::int64_t slope_bytes(const AttentionShape& shape, std::int64_t heads) {
  return heads * round_up(shape.queries, kSlopeTile) *
         round_up(shape.keys, kSlopeTile) * 2;
}

struct Part {
  std::int64_t batch = 0;  // 0: none suits
  std::int64_t heads = 0;
  std::int64_t all_heads() const { return batch * heads; }
};

// Heads of one example or of several, a divisor of each, whose rows of sums
// begin at multiples of 16 bytes.
class Parts {
 public:
  Parts(const AttentionShape& shape, std::int64_t operand_bytes)
      : shape_(shape),
        most_slope_bytes_(std::max(kFewSlopeBytes, 2 * operand_bytes)) {}

  // The smallest that keeps the device busy, else the largest.
  Part best() {
    for (std::int64_t heads = shape_.group(); heads < shape_.heads;
         heads += shape_.group()) {
      if (shape_.heads % heads == 0) consider({1, heads});
    }
    for (std::int64_t batch = 1; batch <= shape_.batch; ++batch) {
      if (shape_.batch % batch == 0) consider({batch, shape_.heads});
    }
    return best_;
  }

 private:
  std::int64_t blocks(const Part& part) const {
    return part.all_heads() * ((shape_.keys + kKeyTile - 1) / kKeyTile);
  }
  // In the order of their sizes.
  void consider(const Part& part) {
    const bool whole = part.all_heads() == shape_.batch * shape_.heads;
    const bool aligned = part.all_heads() * shape_.queries % 4 == 0;
    if (!whole && (!aligned || blocks(part) < kLeastBlocks)) return;
    if (slope_bytes(shape_, part.all_heads()) > most_slope_bytes_) return;
    if (best_.batch == 0 || blocks(best_) < kBusyBlocks) best_ = part;
  }

  const AttentionShape& shape_;
  const std::int64_t most_slope_bytes_;
  Part best_;
};

}  // namespace

std::optional<cuda::OpCode> library_attention(const graph::KernelQuery& query,
                                              const CudaSettings& settings,
                                              const AttentionShape& shape,
                                              bool backward) {
  const DType dtype = query.inputs[0].dtype;
  if (!settings.library_layers || !suits_library(shape, dtype)) return {};
  cuda::Attention made;
  made.backward = backward;
  made.dtype = dtype;
  made.batch = shape.batch;
  made.queries = shape.queries;
  made.keys = shape.keys;
  made.heads = shape.heads;
  made.key_heads = shape.key_heads;
  made.width = shape.width;
  made.scale = shape.scale;
  made.causal = shape.causal;
  made.part_batch = shape.batch;
  made.part_heads = shape.heads;
  made.workspace_bytes = kSpareBytes;
  cuda::OpCode code;
  code.name = fmt::format("{}{}", query.op->name, kCompiledLayer);
  code.matrix_units = true;
  if (backward) {
    const Part part =
        Parts(shape, static_cast<std::int64_t>(bytes_of(query.inputs) +
                                               bytes_of(query.outputs)))
            .best();
    if (part.batch == 0) return {};
    made.part_batch = part.batch;
    made.part_heads = part.heads;
    const std::int64_t heads = part.all_heads();
    made.workspace_bytes += slope_bytes(shape, heads);
    // dk and dv of each head, before those of a group are summed.
    if (shape.group() > 1) {
      made.workspace_bytes += 2 * heads * shape.keys * shape.width * 4;
    }
    made.levels_offset_bytes = round_up(made.workspace_bytes, 256);
    code.scratch_bytes = made.levels_offset_bytes + heads * shape.queries * 4;
  } else {
    code.scratch_bytes = made.workspace_bytes;
  }
  code.stages.emplace_back(made);
  return code;
}

}  // namespace plimsoll::ops
