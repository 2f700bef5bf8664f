#include "device/cuda/cudnn_attention.h"

#include <fmt/core.h>

#include <limits>

#include "device/cuda/operand_address.h"

namespace plimsoll::cuda {
namespace {

// The graph of one launch. The library knows attention by this chain of
// operations, and runs all of it as one kernel or three.
class Chain {
 public:
  explicit Chain(const Attention& of)
      : of_(of),
        type_(cudnn_type(of.dtype)),
        group_(of.heads / of.key_heads),
        scores_(row_major({of.part_batch, of.part_heads, of.queries, of.keys})),
        rows_(row_major({of.part_batch, of.part_heads, of.queries, 1})) {}

  CudnnGraph forward() {
    const int q = graph_.operand(type_, query_layout());
    const int k = graph_.operand(type_, turned(key_layout()));
    const int v = graph_.operand(type_, key_layout());
    const int y = graph_.operand(type_, query_layout());
    const int lse = graph_.operand(CUDNN_DATA_FLOAT, rows_);
    const int score = masked(scaled_product(q, k));
    const int top = inner(rows_);
    graph_.reduce(CUDNN_REDUCE_TENSOR_MAX, score, top);
    const int power =
        apply(CUDNN_POINTWISE_EXP,
              {apply(CUDNN_POINTWISE_SUB, {score, top}, scores_)}, scores_);
    const int sum = inner(rows_);
    graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, power, sum);
    graph_.pointwise(CUDNN_POINTWISE_ADD,
                     {top, apply(CUDNN_POINTWISE_LOG, {sum}, rows_)}, lse);
    const int share = graph_.between(type_, scores_);
    graph_.pointwise(CUDNN_POINTWISE_DIV, {power, sum}, share);
    graph_.product(share, v, y);
    return std::move(graph_);
  }

  CudnnGraph backward() {
    const int dy = graph_.operand(type_, query_layout());
    const int q = graph_.operand(type_, query_layout());
    const int k = graph_.operand(type_, turned(key_layout()));
    const int v = graph_.operand(type_, turned(key_layout()));
    const int y = graph_.operand(type_, query_layout());
    const int lse = graph_.operand(CUDNN_DATA_FLOAT, rows_);
    const int dq = graph_.operand(type_, query_layout());
    const int dk = graph_.operand(type_, key_layout());
    const int dv = graph_.operand(type_, key_layout());
    const int level = graph_.operand(CUDNN_DATA_FLOAT, rows_);

    const CudnnLayout heads =
        row_major({of_.part_batch, of_.part_heads, of_.queries, of_.width});
    const int dot = inner(rows_);
    graph_.reduce(CUDNN_REDUCE_TENSOR_ADD,
                  apply(CUDNN_POINTWISE_MUL, {dy, y}, heads), dot);
    graph_.pointwise(CUDNN_POINTWISE_MUL, {dot, graph_.number(1)}, level);

    const int share =
        apply(CUDNN_POINTWISE_EXP,
              {masked(apply(CUDNN_POINTWISE_SUB, {scaled_product(q, k), lse},
                            scores_))},
              scores_);
    into_keys(share, dy, dv);

    const int slope = inner(scores_);
    graph_.product(dy, v, slope);
    const int bent = apply(
        CUDNN_POINTWISE_MUL,
        {apply(CUDNN_POINTWISE_SUB, {slope, level}, scores_), share}, scores_);
    const int step = apply(CUDNN_POINTWISE_MUL, {bent, scale()}, scores_);
    into_keys(step, q, dk);

    const int keys = graph_.between(type_, key_layout());
    graph_.view(k, keys);
    graph_.product(step, keys, dq);
    return std::move(graph_);
  }

 private:
  CudnnLayout query_layout() const { return layout(of_.queries, of_.heads, 1); }
  CudnnLayout key_layout() const {
    return layout(of_.keys, of_.key_heads, group_);
  }
  // A launch's part of [B, length, heads, width].
  CudnnLayout layout(std::int64_t length, std::int64_t heads,
                     std::int64_t group) const {
    return {{of_.part_batch, of_.part_heads / group, length, of_.width},
            {length * heads * of_.width, of_.width, heads * of_.width, 1}};
  }

  int inner(const CudnnLayout& layout) {
    return graph_.between(CUDNN_DATA_FLOAT, layout);
  }
  int apply(cudnnPointwiseMode_t mode, std::initializer_list<int> inputs,
            const CudnnLayout& layout) {
    const int made = inner(layout);
    graph_.pointwise(mode, inputs, made);
    return made;
  }

  int scale() {
    if (scale_ < 0) scale_ = graph_.number(static_cast<float>(of_.scale));
    return scale_;
  }

  int scaled_product(int q, int k) {
    const int made = inner(scores_);
    graph_.product(q, k, made);
    return apply(CUDNN_POINTWISE_MUL, {made, scale()}, scores_);
  }

  int masked(int score) {
    if (!of_.causal) return score;
    const int query = graph_.between(CUDNN_DATA_INT32, scores_);
    const int key = graph_.between(CUDNN_DATA_INT32, scores_);
    graph_.pointwise(CUDNN_POINTWISE_GEN_INDEX, {score}, query,
                     CUDNN_DATA_FLOAT, 2);
    graph_.pointwise(CUDNN_POINTWISE_GEN_INDEX, {score}, key, CUDNN_DATA_FLOAT,
                     3);
    const int seen = graph_.between(CUDNN_DATA_BOOLEAN, scores_);
    graph_.pointwise(CUDNN_POINTWISE_CMP_GE, {query, key}, seen,
                     CUDNN_DATA_BOOLEAN);
    const int hidden = graph_.number(-std::numeric_limits<float>::infinity());
    return apply(CUDNN_POINTWISE_BINARY_SELECT, {score, hidden, seen}, scores_);
  }

  // Of each key: the sum over queries of what it was given times their rows.
  void into_keys(int scores, int rows, int output) {
    CudnnLayout by_key = turned(scores_);
    const int given = graph_.between(type_, by_key);
    graph_.view(scores, given);
    if (group_ == 1) {
      graph_.product(given, rows, output);
      return;
    }
    const int each = graph_.between(
        type_,
        row_major({of_.part_batch, of_.part_heads, of_.keys, of_.width}));
    graph_.product(given, rows, each);
    graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, each, output);
  }

  const Attention& of_;
  const cudnnDataType_t type_;
  const std::int64_t group_;
  const CudnnLayout scores_;
  const CudnnLayout rows_;  // one number of each query
  CudnnGraph graph_;
  int scale_ = -1;
};

class CudnnAttention final : public CudaWork {
 public:
  CudnnAttention(const Attention& attention,
                 std::shared_ptr<const CudnnPlan> plan)
      : of_(attention), plan_(std::move(plan)) {}

  Status launch(Stream& stream, const void* const* inputs, void* const* outputs,
                void* scratch) override {
    for (std::int64_t batch = 0; batch < of_.batch; batch += of_.part_batch) {
      for (std::int64_t head = 0; head < of_.heads; head += of_.part_heads) {
        PLIMSOLL_RETURN_IF_ERROR(
            launch_part(stream, inputs, outputs, scratch, batch, head));
      }
    }
    return {};
  }

  std::string algorithm() const override { return plan_->engine(); }

 private:
  Status launch_part(Stream& stream, const void* const* inputs,
                     void* const* outputs, void* scratch, std::int64_t batch,
                     std::int64_t head) const {
    const std::int64_t size = size_of(of_.dtype);
    const std::int64_t group = of_.heads / of_.key_heads;
    const std::int64_t by_query =
        (batch * of_.queries * of_.heads + head) * of_.width * size;
    const std::int64_t by_key =
        (batch * of_.keys * of_.key_heads + head / group) * of_.width * size;
    const std::int64_t by_row =
        (batch * of_.heads + head) * of_.queries * size_of(DType::f32);
    using Of = Operand::Of;
    const auto at = [&](Of of, int number, std::int64_t offset) -> void* {
      return address_of({of, number, offset}, inputs, outputs, scratch);
    };
    const auto in = [&](int number, std::int64_t offset) {
      return at(Of::input, number, offset);
    };
    const auto out = [&](int number, std::int64_t offset) {
      return at(Of::output, number, offset);
    };
    if (!of_.backward) {
      void* const pointers[] = {in(0, by_query), in(1, by_key), in(2, by_key),
                                out(0, by_query), out(1, by_row)};
      return plan_->launch(stream, pointers, scratch);
    }
    void* const pointers[] = {
        in(0, by_query),  in(1, by_query),
        in(2, by_key),    in(3, by_key),
        in(4, by_query),  in(5, by_row),
        out(0, by_query), out(1, by_key),
        out(2, by_key),   at(Of::scratch, 0, of_.levels_offset_bytes)};
    return plan_->launch(stream, pointers, scratch);
  }

  const Attention of_;
  const std::shared_ptr<const CudnnPlan> plan_;
};

}  // namespace

Result<CudnnPlan> choose_cudnn_attention(cudnnHandle_t handle,
                                         const Attention& attention) {
  Chain chain(attention);
  auto plan = CudnnPlan::choose(
      handle, attention.backward ? chain.backward() : chain.forward(),
      {.compiled = true, .workspace_bytes = attention.workspace_bytes});
  if (plan) return plan;
  Error error = std::move(plan).error();
  error.message += fmt::format(
      " (attention, {}, {} of [{}, {}, {}, {}] to {} keys of {} heads)",
      attention.backward ? "backward" : "forward", name_of(attention.dtype),
      attention.part_batch, attention.queries, attention.heads, attention.width,
      attention.keys, attention.key_heads);
  return error;
}

std::unique_ptr<CudaWork> make_cudnn_attention(
    const Attention& attention, std::shared_ptr<const CudnnPlan> plan) {
  return std::make_unique<CudnnAttention>(attention, std::move(plan));
}

}  // namespace plimsoll::cuda
