#include "ops/attention/attention_cuda.h"

#include <fmt/core.h>

#include <array>

#include "ops/attention/attention_library_cuda.h"
#include "ops/attention/attention_matrix_cuda.h"
#include "ops/attention/attention_tiles_cuda.h"
#include "ops/cuda_text.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

// The widest head whose dk and dv fit into registers together.
constexpr std::int64_t kMostJointWidth = 128;

// A tile of queries passes over its keys. The last queries come first: where
// the mask is causal they see most.
constexpr std::string_view kQueriesBegin =
    R"(  for (i64 task = block; task < $tasks; task += blocks) {
    const i64 batch = task % $all_heads / $heads;
    const i64 head = task % $all_heads % $heads;
    const int first = (int)(($tiles - 1 - task / $all_heads) * kTile);
    const int count = $queries - first < kTile ? $queries - first : kTile;
    const int end = $end;
    const i64 at = ((batch * $queries + first) * $heads + head) * kWidth;
    const i64 key_at = (batch * $keys * $key_heads + head / $group) * kWidth;
    C sums[kGroups][kR][kV];
    Tile::clear(sums);
)";
constexpr std::string_view kQueriesLoop =
    R"(    for (int key = 0; key < end; key += kTile) {
      const int keys = end - key < kTile ? end - key : kTile;
      const i64 from = key_at + (i64)key * $key_stride;
      C scores[kR][kV];
      Tile::dots(scores, in$q + at, $stride, count, in$k + from, $key_stride,
                 keys);
)";
constexpr std::string_view kTasksEnd = R"(    __syncthreads();
  }
)";

// Rows of scores in shared memory, some threads each.
constexpr std::string_view kForwardBegin =
    R"(    const int kThreads = 512 / kTile;
    const int own = threadIdx.x / kThreads;
    const int lane = threadIdx.x % kThreads;
    C top = -infinity_of<C>(), sum = 0;
)";

constexpr std::string_view kForwardMiddle = R"(#pragma unroll
      for (int i = 0; i < kR; ++i) {
#pragma unroll
        for (int j = 0; j < kV; ++j) {
          const int r = Tile::row() + 16 * i, c = Tile::column() + 32 * j;
          const int query = first + r, at_key = key + c;
          Tile::scores()[r * kScoreStep + c] =
              $seen ? mul(scores[i][j], $scale) : -infinity_of<C>();
        }
      }
      __syncthreads();
      C* const mine = Tile::scores() + own * kScoreStep + lane;
      C most = top;
#pragma unroll
      for (int c = 0; c < kTile; c += kThreads) {
        most = mine[c] > most ? mine[c] : most;
      }
      most = Team<32>::join_in<Max>(most, kThreads / 2);
      // Nothing is seen yet: every exponential is 0 from any number.
      const C less = most == -infinity_of<C>() ? (C)0 : most;
      const C fade = exp_of(sub(top, less));
      C part = 0;
#pragma unroll
      for (int c = 0; c < kTile; c += kThreads) {
        mine[c] = exp_of(sub(mine[c], less));
        part = add(part, mine[c]);
      }
      part = Team<32>::join_in<Sum>(part, kThreads / 2);
      sum = add(mul(sum, fade), part);
      top = most;
      if (lane == 0) Tile::each()[own] = fade;
      __syncthreads();
      Tile::scale_rows(sums, Tile::each());
      Tile::add_rows(sums, in2 + from, $key_stride, keys);
)";

constexpr std::string_view kForwardFinish = R"(    if (lane == 0) {
      Tile::each()[own] = sum == (C)0 ? (C)0 : div((C)1, sum);
      if (own < count) {
        out1[(batch * $heads + head) * $queries + first + own] =
            sum == (C)0 ? -infinity_of<C>() : add(top, log_of(sum));
      }
    }
    __syncthreads();
    Tile::scale_rows(sums, Tile::each());
    Tile::store_rows(sums, (C)1, out0 + at, $stride, count);
)";

// Of each query, the sum of dy * y.
constexpr std::string_view kLevels = R"(  typedef $C C;
  C* level = (C*)scratch;
  const u32 lane = threadIdx.x % 32;
  for (i64 row = block * 16 + threadIdx.x / 32; row < $rows;
       row += blocks * 16) {
    C sum = 0;
    for (int d = lane; d < $width; d += 32) {
      sum = mul_add((C)load(in0[row * $width + d]),
                    (C)load(in4[row * $width + d]), sum);
    }
    sum = Team<32>::join<Sum>(sum);
    const i64 batch = row / ($queries * $heads);
    const i64 query = row / $heads % $queries;
    if (lane == 0) {
      level[(batch * $heads + row % $heads) * $queries + query] = sum;
    }
  }
)";

constexpr std::string_view kShare = R"(
          const C less = lse[place] == -infinity_of<C>() ? (C)0 : lse[place];
          const C share =
              $seen ? exp_of(sub(mul(scores[i][j], $scale), less)) : (C)0;
)";

constexpr std::string_view kQueryMiddle = R"(      C slopes[kR][kV];
      Tile::dots(slopes, in0 + at, $stride, count, in3 + from, $key_stride,
                 keys);
#pragma unroll
      for (int i = 0; i < kR; ++i) {
#pragma unroll
        for (int j = 0; j < kV; ++j) {
          const int r = Tile::row() + 16 * i, c = Tile::column() + 32 * j;
          const int query = first + r, at_key = key + c;
          const int place = query < $queries ? query : $queries - 1;$share
          Tile::scores()[r * kScoreStep + c] =
              mul(share, sub(slopes[i][j], level[place]));
        }
      }
      Tile::add_rows(sums, in2 + from, $key_stride, keys);
)";

constexpr std::string_view kQueryBegin =
    R"(    const C* lse = in5 + (batch * $heads + head) * $queries;
    const C* level =
        (const C*)scratch + (batch * $heads + head) * $queries;
)";

constexpr std::string_view kQueryFinish =
    "    Tile::store_rows(sums, $scale, out0 + at, $stride, count);\n";

// A tile of keys passes over the queries that see any of them. Heads so wide
// that registers do not hold both have dk and dv one after the other.
constexpr std::string_view kKeysBegin =
    R"(  for (i64 task = block; task < $tasks; task += blocks) {
    const i64 batch = task % $all_heads / $key_heads;
    const i64 key_head = task % $all_heads % $key_heads;
    const int key = (int)(task / $all_heads * kTile);
    const int keys = $keys - key < kTile ? $keys - key : kTile;
    const i64 at = ((batch * $keys + key) * $key_heads + key_head) * kWidth;
    C dk[kGroups][kR][kV], dv[kGroups][kR][kV];
    Tile::clear(dk);
    Tile::clear(dv);
    for (int member = 0; member < $group; ++member) {
      const i64 head = key_head * $group + member;
      const C* lse = in5 + (batch * $heads + head) * $queries;
      const C* level = (const C*)scratch + (batch * $heads + head) * $queries;
      for (int first = $start; first < $queries; first += kTile) {
        const int count = $queries - first < kTile ? $queries - first : kTile;
        const i64 from = ((batch * $queries + first) * $heads + head) * kWidth;
        C scores[kR][kV];
        Tile::dots(scores, in2 + at, $key_stride, keys, in1 + from, $stride,
                   count);
#pragma unroll
        for (int i = 0; i < kR; ++i) {
#pragma unroll
          for (int j = 0; j < kV; ++j) {
            const int r = Tile::row() + 16 * i, c = Tile::column() + 32 * j;
            const int query = first + c, at_key = key + r;
            const int place = query < $queries ? query : $queries - 1;$share
            scores[i][j] = share;
          }
        }
)";
constexpr std::string_view kKeysDv = R"(        Tile::store_scores(scores);
        Tile::add_rows(dv, in0 + from, $stride, count);
)";
constexpr std::string_view kKeysDk = R"(        C slopes[kR][kV];
        Tile::dots(slopes, in3 + at, $key_stride, keys, in0 + from, $stride,
                   count);
#pragma unroll
        for (int i = 0; i < kR; ++i) {
#pragma unroll
          for (int j = 0; j < kV; ++j) {
            const int query = first + Tile::column() + 32 * j;
            const int place = query < $queries ? query : $queries - 1;
            slopes[i][j] = mul(scores[i][j], sub(slopes[i][j], level[place]));
          }
        }
        Tile::store_scores(slopes);
        Tile::add_rows(dk, in1 + from, $stride, count);
)";
// Whether `query` sees the key `at_key`.
std::string seen_text(const AttentionShape& shape, int mask) {
  std::string text =
      fmt::format("query < {} && at_key < {}", shape.queries, shape.keys);
  if (shape.causal) text += " && at_key <= query";
  if (shape.mask) {
    text += fmt::format(
        " && load(in{}[batch * {} + head * {} + (i64)query * {} + at_key]) != "
        "0",
        mask, shape.mask_batch, shape.mask_head, shape.mask_query);
  }
  return "(" + text + ")";
}

class Texts {
 public:
  Texts(const KernelQuery& query, const CudaSettings& settings,
        const AttentionForm& form)
      : form_(form),
        shape_(attention_shape(query.inputs, form, *query.attrs)),
        dtype_(query.inputs[0].dtype),
        matrix_(settings.matrix_units &&
                attention_fits_matrix_units(dtype_, shape_)),
        tile_(attention_tile(wide_dtype(dtype_))) {}

  const AttentionShape& shape() const { return shape_; }
  bool matrix_units() const { return matrix_; }
  // Whether registers hold dk and dv of a task together.
  bool joint() const { return matrix_ || shape_.width <= kMostJointWidth; }
  std::string name() const {
    return matrix_ ? fmt::format("cuda:{}x{}:mma", kMatrixQueries, kMatrixKeys)
                   : fmt::format("cuda:{0}x{0}", tile_);
  }
  std::int64_t query_tasks() const {
    return shape_.batch * shape_.heads *
           tiles(shape_.queries, matrix_ ? kMatrixQueries : tile_);
  }
  std::int64_t key_tasks() const {
    return shape_.batch * shape_.key_heads *
           tiles(shape_.keys, matrix_ ? kMatrixKeys : tile_);
  }

  std::string forward() const {
    if (matrix_) return attention_matrix_forward(dtype_, shape_, seen());
    return queries(kForwardBegin, kForwardMiddle, kForwardFinish);
  }
  std::string dq() const {
    if (matrix_) return attention_matrix_dq(dtype_, shape_, seen());
    return queries(kQueryBegin, kQueryMiddle, kQueryFinish);
  }
  std::string dk_dv(bool dk, bool dv) const {
    if (matrix_) return attention_matrix_dk_dv(dtype_, shape_, seen());
    return keys(dk, dv);
  }
  // What both have first, of each query: the sum of dy * y.
  std::string levels() const { return without_tiles(kLevels, 0, 1); }

 private:
  // The loop over tiles of queries, with what stands before, in and behind
  // that over keys.
  std::string queries(std::string_view begin, std::string_view middle,
                      std::string_view finish) const {
    const std::string body =
        fmt::format("{}{}{}{}    }}\n{}{}", kQueriesBegin, begin, kQueriesLoop,
                    middle, finish, kTasksEnd);
    return filled(body, query_tasks(), shape_.heads);
  }
  std::string keys(bool dk, bool dv) const {
    std::string store;
    if (dk) {
      store +=
          "    Tile::store_rows(dk, $scale, out1 + at, $key_stride, keys);\n";
    }
    if (dv) {
      store +=
          "    Tile::store_rows(dv, (C)1, out2 + at, $key_stride, keys);\n";
    }
    const std::string body =
        fmt::format("{}{}{}      }}\n    }}\n{}{}", kKeysBegin,
                    dv ? kKeysDv : "", dk ? kKeysDk : "", store, kTasksEnd);
    return filled(body, key_tasks(), shape_.key_heads);
  }

  static std::int64_t tiles(std::int64_t extent, std::int64_t tile) {
    return (extent + tile - 1) / tile;
  }

  std::string seen() const { return seen_text(shape_, form_.mask); }

  std::string end_text() const {
    if (!shape_.causal) return std::to_string(shape_.keys);
    return fmt::format("first + count < {0} ? first + count : {0}",
                       shape_.keys);
  }

  std::string filled(std::string_view body, std::int64_t tasks,
                     std::int64_t heads) const {
    return attention_tiles_text(shape_, dtype_) +
           without_tiles(body, tasks, heads);
  }

  std::string without_tiles(std::string_view body, std::int64_t tasks,
                            std::int64_t heads) const {
    const DType compute = wide_dtype(dtype_);
    const std::string scale = cuda_number(compute, shape_.scale);
    return cuda_text(
        body,
        {{"C", cuda_type(compute)},
         {"tasks", tasks},
         {"all_heads", shape_.batch * heads},
         {"tiles", tiles(shape_.queries, tile_)},
         {"rows", shape_.batch * shape_.queries * shape_.heads},
         {"end", end_text()},
         {"start", shape_.causal ? "key" : "0"},
         {"q", form_.q},
         {"k", form_.k},
         {"queries", shape_.queries},
         {"keys", shape_.keys},
         {"heads", shape_.heads},
         {"key_heads", shape_.key_heads},
         {"group", shape_.group()},
         {"width", shape_.width},
         {"stride", shape_.query_stride()},
         {"key_stride", shape_.key_stride()},
         {"share", cuda_text(kShare, {{"seen", seen()}, {"scale", scale}})},
         {"seen", seen()},
         {"scale", scale}});
  }

  AttentionForm form_;
  AttentionShape shape_;
  DType dtype_;
  bool matrix_;
  std::int64_t tile_;
};

Status fits(const KernelQuery& query, const AttentionShape& shape) {
  if (shape.width <= kMostCudaWidth) return {};
  return Error{ErrorCode::unsupported,
               fmt::format("{} on cuda has heads of {} elements at most, not "
                           "{}",
                           query.op->name, kMostCudaWidth, shape.width)};
}

std::string name_of(const KernelQuery& query, const Texts& texts) {
  return fmt::format("{}:{}", query.op->name, texts.name());
}

graph::Cost part_of(graph::Cost cost, double part) {
  return {.flops = cost.flops * part, .bytes = cost.bytes * part};
}

Result<cuda::OpCode> forward_code(const KernelQuery& query,
                                  const CudaSettings& settings) {
  const Texts texts(query, settings, kAttentionForward);
  PLIMSOLL_RETURN_IF_ERROR(fits(query, texts.shape()));
  if (texts.query_tasks() == 0) {
    return cuda_op(query, name_of(query, texts), "", 1);
  }
  if (auto made = library_attention(query, settings, texts.shape(), false)) {
    return *std::move(made);
  }
  cuda::OpCode code = cuda_op(query, name_of(query, texts), texts.forward(),
                              cuda_blocks(texts.query_tasks()));
  code.matrix_units = texts.matrix_units();
  return code;
}

// dq, and dk with dv, make the scores again and do not wait for each other.
Result<cuda::OpCode> backward_code(const KernelQuery& query,
                                   const CudaSettings& settings) {
  const Texts texts(query, settings, kAttentionBackward);
  PLIMSOLL_RETURN_IF_ERROR(fits(query, texts.shape()));
  if (texts.query_tasks() == 0) {
    return cuda_op(query, name_of(query, texts), "", 1);
  }
  if (auto made = library_attention(query, settings, texts.shape(), true)) {
    return *std::move(made);
  }
  const graph::Cost cost =
      query.op->cost(query.inputs, query.outputs, *query.attrs);
  const std::int64_t rows = query.inputs[5].shape.elements();
  cuda::OpCode code;
  code.name = name_of(query, texts);
  code.matrix_units = texts.matrix_units();
  code.scratch_bytes = rows * size_of(wide_dtype(query.inputs[0].dtype));
  code.stages.emplace_back(cuda_function(query, texts.levels(),
                                         cuda_blocks((rows + 15) / 16),
                                         part_of(cost, 0.01)));
  code.stages.emplace_back(cuda_function(
      query, texts.dq(), cuda_blocks(texts.query_tasks()), part_of(cost, 0.6)));
  const auto add_keys = [&](bool dk, bool dv, double part) {
    code.stages.emplace_back(cuda_function(query, texts.dk_dv(dk, dv),
                                           cuda_blocks(texts.key_tasks()),
                                           part_of(cost, part)));
  };
  if (texts.joint()) {
    add_keys(true, true, 0.8);
  } else {
    add_keys(false, true, 0.4);
    add_keys(true, false, 0.6);
  }
  return code;
}

}  // namespace

std::span<const CudaKernels> attention_cuda_kernels() {
  static constexpr std::array<CudaKernels, 2> kernels = {{
      {"attention", forward_code},
      {"attention_grad", backward_code},
  }};
  return kernels;
}

}  // namespace plimsoll::ops
