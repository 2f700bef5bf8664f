// Functions of tensors, by NumPy's and TensorFlow's names. Activations of
// layers (pl::relu, pl::sigmoid, ...) and losses (pl::mean_squared_error, ...)
// can be called too: see layers.h and objective.h.
#pragma once

#include <array>

#include "plimsoll/layers.h"
#include "plimsoll/tensor.h"

namespace plimsoll {

// What is new.
Tensor zeros(Extents shape, DType dtype = DType::f32);
Tensor ones(Extents shape, DType dtype = DType::f32);
Tensor full(Extents shape, double value, DType dtype = DType::f32);
Tensor zeros_like(const Tensor& a);
Tensor ones_like(const Tensor& a);
Tensor arange(std::int64_t count, DType dtype = DType::f32);
// The same numbers for the same seed, on every machine.
Tensor random_normal(Extents shape, std::int64_t seed, double mean = 0,
                     double deviation = 1, DType dtype = DType::f32);
Tensor random_uniform(Extents shape, std::int64_t seed, double low = 0,
                      double high = 1, DType dtype = DType::f32);

// Element by element.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor power(const Tensor& a, const Tensor& b);
Tensor power(const Tensor& a, double b);
Tensor square(const Tensor& a);
Tensor sqrt(const Tensor& a);
Tensor exp(const Tensor& a);
Tensor log(const Tensor& a);
Tensor abs(const Tensor& a);
Tensor sign(const Tensor& a);
Tensor clip(const Tensor& a, double low, double high);
// 1 where it is so, else 0, in the type of the operands.
Tensor equal(const Tensor& a, const Tensor& b);
Tensor not_equal(const Tensor& a, const Tensor& b);
Tensor less(const Tensor& a, const Tensor& b);
Tensor less_equal(const Tensor& a, const Tensor& b);
Tensor greater(const Tensor& a, const Tensor& b);
Tensor greater_equal(const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
// The value itself, through which no gradient flows.
Tensor stop_gradient(const Tensor& a);

// Over the given axes (negative ones count from the end), or all.
Tensor sum(const Tensor& a, std::vector<std::int64_t> axes = {},
           bool keepdims = false);
Tensor mean(const Tensor& a, std::vector<std::int64_t> axes = {},
            bool keepdims = false);
Tensor max(const Tensor& a, std::vector<std::int64_t> axes = {},
           bool keepdims = false);
Tensor argmax(const Tensor& a, std::int64_t axis, bool keepdims = false);

Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a = false,
              bool transpose_b = false);
// As NumPy's, of two operands: "bqhd,bkhd->bhqk".
Tensor einsum(const std::string& equation, const Tensor& a, const Tensor& b);

// The axes turned around, or in the order given. Here and below negative ones
// count from the end.
Tensor transpose(const Tensor& a, std::vector<std::int64_t> order = {});
Tensor expand_dims(const Tensor& a, std::int64_t axis);
Tensor squeeze(const Tensor& a, std::vector<std::int64_t> axes);
Tensor broadcast_to(const Tensor& a, Extents shape);
Tensor concat(const std::vector<Tensor>& parts, std::int64_t axis);
Tensor stack(const std::vector<Tensor>& parts, std::int64_t axis);
// Equal parts, and parts of sizes that add up to the axis.
std::vector<Tensor> split(const Tensor& a, std::int64_t parts,
                          std::int64_t axis = 0);
std::vector<Tensor> split_with_sizes(const Tensor& a,
                                     const std::vector<std::int64_t>& sizes,
                                     std::int64_t axis = 0);
// So many of `value` before and after each axis: pad(a, {{1, 1}, {0, 2}}).
Tensor pad(const Tensor& a,
           const std::vector<std::array<std::int64_t, 2>>& amounts,
           double value = 0);
Tensor gather(const Tensor& a, const Tensor& indices, std::int64_t axis = 0);
Tensor one_hot(const Tensor& indices, std::int64_t depth,
               DType dtype = DType::f32);
struct TopK {
  Tensor values;
  Tensor indices;  // i64; they have no gradient
};
// The k largest of the last axis, largest first, equal ones by their index.
TopK top_k(const Tensor& a, std::int64_t k);

// What layers compute. Images are [B, H, W, C]; kernels are [O, KH, KW, C /
// groups], and a bias is added by `+`.
struct Conv2dOptions {
  Size2 strides{1, 1};
  Padding padding = "valid";
  Size2 dilations{1, 1};
  std::int64_t groups = 1;  // as many as channels: depthwise
};
Tensor conv2d(const Tensor& images, const Tensor& kernel,
              const Conv2dOptions& options = {});
Tensor max_pool2d(const Tensor& images, const PoolOptions& options = {});
// Padding is not counted.
Tensor avg_pool2d(const Tensor& images, const PoolOptions& options = {});
// To another height and width, "bilinear" or "nearest". Pixels have their
// centres at halves and nothing is smoothed: as tf.image.resize, and PyTorch's
// interpolate ("nearest" is its "nearest-exact").
Tensor resize(const Tensor& images, Size2 size,
              const std::string& method = "bilinear");

// Over the last axis; without gamma and beta 1 and 0 are taken.
Tensor layer_normalization(const Tensor& x, const Tensor& gamma = {},
                           const Tensor& beta = {}, double epsilon = 1e-3);
// For pl::softmax see layers.h.
Tensor log_softmax(const Tensor& a);

struct DotProductOptions {
  // [B or 1, N or 1, S or 1, T]: where it is 0 a query does not see a key.
  Tensor mask = {};
  bool causal = false;  // query i sees the keys 0 to i
  double scale = 0;     // 0: 1 / sqrt(D)
};
// softmax(scale q k^T) v, without holding all scores: q is [B, S, N, D], k and
// v are [B, T, K, D], and each of their K heads serves N / K of q's.
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k,
                                    const Tensor& v,
                                    const DotProductOptions& options = {});

// One number for each row of the last axis, as TensorFlow's.
Tensor softmax_cross_entropy_with_logits(const Tensor& labels,
                                         const Tensor& logits);
// `labels` are class indices.
Tensor sparse_softmax_cross_entropy_with_logits(const Tensor& labels,
                                                const Tensor& logits);
// Element by element.
Tensor sigmoid_cross_entropy_with_logits(const Tensor& labels,
                                         const Tensor& logits);

}  // namespace plimsoll
