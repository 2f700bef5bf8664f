#include "ops/attention/attention_library_cuda.h"

#include <fmt/core.h>

#include "base/units.h"

namespace plimsoll::ops {
namespace {

// Up to so many products a function of ours costs less than the library.
constexpr double kSmallAttention = 1 << 24;
// What its kernels take: elements of a head, and positions.
constexpr std::int64_t kWidthGrain = 8;
constexpr std::int64_t kMostWidth = 128;
constexpr std::int64_t kLeastPositions = 64;

// Backward lets its slopes lie in memory, in tiles, so that dq is summed in one
// order. A launch has as many heads as keep a large device busy, a block for
// each tile of keys: the longer, the fewer, and memory stays linear in the
// positions. At GPT-2's shape on an H200 (16 x 1,024, 12 heads of 64) 49 MiB
// take 544 us, 97 take 429, 193 take 357, all at once 385 and 316.
constexpr std::int64_t kSlopeTile = 64;
constexpr std::int64_t kKeyTile = 128;
constexpr std::int64_t kBusyBlocks = 512;
constexpr std::int64_t kMostSlopeBytes = 2 * kGiB;
constexpr std::int64_t kSpareBytes = kMiB;

bool suits_library(const AttentionShape& shape, DType dtype) {
  const double products =
      static_cast<double>(shape.batch * shape.heads * shape.width) *
      shape.pairs();
  return size_of(dtype) == 2 && !shape.mask && products > kSmallAttention &&
         shape.width % kWidthGrain == 0 && shape.width <= kMostWidth &&
         shape.queries >= kLeastPositions && shape.keys >= kLeastPositions &&
         (!shape.causal || shape.queries == shape.keys);
}

std::int64_t slope_bytes(const AttentionShape& shape, std::int64_t heads) {
  return heads * round_up(shape.queries, kSlopeTile) *
         round_up(shape.keys, kSlopeTile) * 2;
}

// Whole examples, or a divisor of one's heads, with rows of sums that begin at
// a multiple of 16 bytes.
void cut(const AttentionShape& shape, cuda::Attention& made) {
  const std::int64_t tiles = (shape.keys + kKeyTile - 1) / kKeyTile;
  const auto fits = [&](std::int64_t heads) {
    return heads * tiles >= kBusyBlocks && heads * shape.queries % 4 == 0;
  };
  for (std::int64_t heads = shape.group(); heads < shape.heads;
       heads += shape.group()) {
    if (shape.heads % heads == 0 && fits(heads)) {
      made.part_batch = 1;
      made.part_heads = heads;
      return;
    }
  }
  made.part_heads = shape.heads;
  made.part_batch = 1;
  while (made.part_batch < shape.batch &&
         (shape.batch % made.part_batch != 0 ||
          !fits(made.part_batch * shape.heads))) {
    ++made.part_batch;
  }
}

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
  code.name = fmt::format("{}{}", query.op->name, kLayerLibrary);
  code.matrix_units = true;
  if (backward) {
    cut(shape, made);
    const std::int64_t heads = made.part_batch * made.part_heads;
    if (slope_bytes(shape, heads) > kMostSlopeBytes) return {};
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
