// Functions of tensors, by NumPy's and TensorFlow's names. Activations of
// layers (pl::relu, pl::sigmoid, ...) and losses (pl::mean_squared_error, ...)
// can be called too: see layers.h and objective.h.
#pragma once

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
Tensor einsum(const std::string& equation, const Tensor& a, const Tensor& b);

// The axes turned around, or in the order given.
Tensor transpose(const Tensor& a, std::vector<std::int64_t> order = {});
Tensor expand_dims(const Tensor& a, std::int64_t axis);
Tensor squeeze(const Tensor& a, std::vector<std::int64_t> axes);
Tensor broadcast_to(const Tensor& a, Extents shape);
Tensor concat(const std::vector<Tensor>& parts, std::int64_t axis);
Tensor stack(const std::vector<Tensor>& parts, std::int64_t axis);
Tensor gather(const Tensor& a, const Tensor& indices, std::int64_t axis = 0);
Tensor one_hot(const Tensor& indices, std::int64_t depth,
               DType dtype = DType::f32);

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
