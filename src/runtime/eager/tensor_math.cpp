#include "plimsoll/tensor_math.h"

#include <numeric>

#include "graph/elementwise.h"
#include "ops/einsum/einsum.h"
#include "ops/elementwise/elementwise.h"
#include "ops/indexing/indexing.h"
#include "ops/loss/loss.h"
#include "ops/matmul/matmul.h"
#include "ops/movement/axis_of.h"
#include "ops/movement/expand.h"
#include "ops/movement/join.h"
#include "ops/movement/movement.h"
#include "ops/movement/window.h"
#include "ops/random/random.h"
#include "ops/reduction/reduction.h"
#include "runtime/eager/dispatch.h"
#include "runtime/eager/tensor_call.h"
#include "runtime/eager/tensor_value.h"

namespace plimsoll {
namespace {

using graph::Builder;
using graph::ValueId;
using runtime::built;
using runtime::refuse;
using runtime::ValuePtr;
using Code = graph::ElementwiseCode;
using Ids = std::span<const ValueId>;

// NumPy 2's: of two floating types the wider one; integers of more than 16 bits
// need f64 to be held. bf16 and f16 meet in f32.
DType common_dtype(DType a, DType b) {
  if (a == b) return a;
  if (is_floating(a) && is_floating(b)) {
    return a == DType::f64 || b == DType::f64 ? DType::f64 : DType::f32;
  }
  if (!is_floating(a) && !is_floating(b)) {
    return size_of(a) >= size_of(b) ? a : b;
  }
  const DType floating = is_floating(a) ? a : b;
  const DType integer = is_floating(a) ? b : a;
  if (floating == DType::f64 || size_of(integer) > 2) return DType::f64;
  return size_of(integer) == 1 || floating == DType::f32 ? floating
                                                         : DType::f32;
}

Tensor one(Result<ValuePtr> result) {
  return Tensor(value_or_throw(std::move(result)));
}

Tensor unary(Code code, const Tensor& a, const graph::Attrs& attrs = {}) {
  const ValuePtr operands[] = {
      runtime::value_of(a, graph::name_of(code).data())};
  return one(runtime::dispatch_one(ops::elementwise_op(code), operands, attrs));
}

Tensor with_scalar(Code code, const Tensor& a, double scalar) {
  return unary(code, a, {{"scalar", scalar}});
}

Tensor binary(Code code, const Tensor& a, const Tensor& b) {
  const char* name = graph::name_of(code).data();
  const DType dtype = common_dtype(runtime::value_of(a, name)->type.dtype,
                                   runtime::value_of(b, name)->type.dtype);
  const Tensor left = a.cast(dtype);
  const Tensor right = b.cast(dtype);
  const ValuePtr operands[] = {left.value(), right.value()};
  return one(runtime::dispatch_one(ops::elementwise_op(code), operands));
}

// A number in the type and the session of a tensor.
Tensor beside(const Tensor& a, double number) {
  const ValuePtr& value = runtime::value_of(a, "/");
  return one(
      runtime::filled({value->type.dtype, Shape{}}, number, value->home.get()));
}

Tensor filled_like(const Tensor& a, double number) {
  const ValuePtr& value = runtime::value_of(a, "full_like");
  return one(runtime::filled(value->type, number, value->home.get()));
}

// Far more than anybody names.
constexpr std::int64_t kMostParts = std::int64_t{1} << 20;

}  // namespace

Tensor operator+(const Tensor& a, const Tensor& b) {
  return binary(Code::add, a, b);
}
Tensor operator-(const Tensor& a, const Tensor& b) {
  return binary(Code::subtract, a, b);
}
Tensor operator*(const Tensor& a, const Tensor& b) {
  return binary(Code::multiply, a, b);
}
Tensor operator/(const Tensor& a, const Tensor& b) {
  return binary(Code::divide, a, b);
}
Tensor operator+(const Tensor& a, double b) {
  return with_scalar(Code::add_scalar, a, b);
}
Tensor operator-(const Tensor& a, double b) { return a + -b; }
Tensor operator*(const Tensor& a, double b) {
  return with_scalar(Code::multiply_scalar, a, b);
}
// Not by the inverse, which would round once more.
Tensor operator/(const Tensor& a, double b) { return a / beside(a, b); }
Tensor operator+(double a, const Tensor& b) { return b + a; }
Tensor operator-(double a, const Tensor& b) { return -b + a; }
Tensor operator*(double a, const Tensor& b) { return b * a; }
Tensor operator/(double a, const Tensor& b) { return beside(b, a) / b; }
Tensor operator-(const Tensor& a) { return unary(Code::negate, a); }
Tensor& operator+=(Tensor& a, const Tensor& b) { return a = a + b; }
Tensor& operator-=(Tensor& a, const Tensor& b) { return a = a - b; }
Tensor& operator*=(Tensor& a, const Tensor& b) { return a = a * b; }
Tensor& operator/=(Tensor& a, const Tensor& b) { return a = a / b; }

Tensor full(Extents shape, double value, DType dtype) {
  return one(runtime::filled({dtype, runtime::shape_of(shape)}, value));
}
Tensor zeros(Extents shape, DType dtype) {
  return full(std::move(shape), 0, dtype);
}
Tensor ones(Extents shape, DType dtype) {
  return full(std::move(shape), 1, dtype);
}
Tensor zeros_like(const Tensor& a) { return filled_like(a, 0); }
Tensor ones_like(const Tensor& a) { return filled_like(a, 1); }

Tensor arange(std::int64_t count, DType dtype) {
  const auto eager = value_or_throw(runtime::current_eager());
  const graph::TensorType type{DType::i64, runtime::shape_of({count})};
  throw_if_error(runtime::check_bytes(type));
  const auto made = value_or_throw(eager->from_pieces(
      type, [](std::span<std::byte> piece, std::int64_t offset) {
        auto* numbers = reinterpret_cast<std::int64_t*>(piece.data());
        std::iota(numbers, numbers + piece.size() / sizeof(std::int64_t),
                  offset / std::int64_t{sizeof(std::int64_t)});
      }));
  return Tensor(made).cast(dtype);
}

Tensor random_normal(Extents shape, std::int64_t seed, double mean,
                     double deviation, DType dtype) {
  const Tensor step = Tensor::of(std::vector<std::int64_t>{0}, {});
  return built("random_normal", {step}, [&](Builder& builder, Ids ids) {
    return ops::random_normal(builder, runtime::shape_of(shape), dtype, mean,
                              deviation, ids[0], seed, 0);
  });
}

Tensor random_uniform(Extents shape, std::int64_t seed, double low, double high,
                      DType dtype) {
  const Tensor step = Tensor::of(std::vector<std::int64_t>{0}, {});
  return built("random_uniform", {step}, [&](Builder& builder, Ids ids) {
    return ops::random_uniform(builder, runtime::shape_of(shape), dtype, low,
                               high, ids[0], seed, 0);
  });
}

Tensor maximum(const Tensor& a, const Tensor& b) {
  return binary(Code::maximum, a, b);
}
Tensor minimum(const Tensor& a, const Tensor& b) {
  return binary(Code::minimum, a, b);
}
Tensor power(const Tensor& a, const Tensor& b) {
  return binary(Code::power, a, b);
}
Tensor power(const Tensor& a, double b) {
  return b == 2 ? square(a) : with_scalar(Code::power_scalar, a, b);
}
Tensor square(const Tensor& a) { return unary(Code::square, a); }
Tensor sqrt(const Tensor& a) { return unary(Code::sqrt, a); }
Tensor exp(const Tensor& a) { return unary(Code::exp, a); }
Tensor log(const Tensor& a) { return unary(Code::log, a); }
Tensor abs(const Tensor& a) { return unary(Code::abs, a); }
Tensor sign(const Tensor& a) { return unary(Code::sign, a); }
Tensor clip(const Tensor& a, double low, double high) {
  return built("clip", {a}, [&](Builder& builder, Ids ids) {
    return ops::clip(builder, ids[0], low, high);
  });
}
Tensor equal(const Tensor& a, const Tensor& b) {
  return binary(Code::equal, a, b);
}
Tensor not_equal(const Tensor& a, const Tensor& b) {
  return binary(Code::not_equal, a, b);
}
Tensor less(const Tensor& a, const Tensor& b) {
  return binary(Code::less, a, b);
}
Tensor less_equal(const Tensor& a, const Tensor& b) {
  return binary(Code::less_equal, a, b);
}
Tensor greater(const Tensor& a, const Tensor& b) {
  return binary(Code::greater, a, b);
}
Tensor greater_equal(const Tensor& a, const Tensor& b) {
  return binary(Code::greater_equal, a, b);
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  const DType dtype = common_dtype(a.dtype(), b.dtype());
  return built("where", {condition.cast(dtype), a.cast(dtype), b.cast(dtype)},
               [&](Builder& builder, Ids ids) {
                 return ops::where(builder, ids[0], ids[1], ids[2]);
               });
}

Tensor stop_gradient(const Tensor& a) {
  return Tensor(runtime::same_bytes(runtime::value_of(a, "stop_gradient")));
}

Tensor sum(const Tensor& a, std::vector<std::int64_t> axes, bool keepdims) {
  return built("sum", {a}, [&](Builder& builder, Ids ids) {
    return ops::reduce_sum(builder, ids[0], axes, keepdims);
  });
}
Tensor mean(const Tensor& a, std::vector<std::int64_t> axes, bool keepdims) {
  return built("mean", {a}, [&](Builder& builder, Ids ids) {
    return ops::reduce_mean(builder, ids[0], axes, keepdims);
  });
}
Tensor max(const Tensor& a, std::vector<std::int64_t> axes, bool keepdims) {
  return built("max", {a}, [&](Builder& builder, Ids ids) {
    return ops::reduce_max(builder, ids[0], axes, keepdims);
  });
}
Tensor argmax(const Tensor& a, std::int64_t axis, bool keepdims) {
  return built("argmax", {a}, [&](Builder& builder, Ids ids) {
    return ops::argmax(builder, ids[0], axis, keepdims);
  });
}

Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a,
              bool transpose_b) {
  const DType dtype = common_dtype(a.dtype(), b.dtype());
  const Tensor left = a.cast(dtype);
  const Tensor right = b.cast(dtype);
  const ValuePtr operands[] = {left.value(), right.value()};
  return one(runtime::dispatch_one(
      ops::matmul_op(), operands,
      {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}}));
}

Tensor einsum(const std::string& equation, const Tensor& a, const Tensor& b) {
  const DType dtype = common_dtype(runtime::value_of(a, "einsum")->type.dtype,
                                   runtime::value_of(b, "einsum")->type.dtype);
  return built("einsum", {a.cast(dtype), b.cast(dtype)},
               [&](Builder& builder, Ids ids) {
                 return ops::einsum(builder, equation, ids[0], ids[1]);
               });
}

Tensor transpose(const Tensor& a, std::vector<std::int64_t> order) {
  if (order.empty()) {
    for (std::int64_t axis = a.rank(); axis-- > 0;) order.push_back(axis);
  }
  for (std::int64_t& axis : order) {
    if (axis < 0) axis += a.rank();
  }
  return built("transpose", {a}, [&](Builder& builder, Ids ids) {
    return ops::transpose(builder, ids[0], order);
  });
}
Tensor expand_dims(const Tensor& a, std::int64_t axis) {
  return built("expand_dims", {a}, [&](Builder& builder, Ids ids) {
    return ops::expand_dims(builder, ids[0], axis);
  });
}
Tensor squeeze(const Tensor& a, std::vector<std::int64_t> axes) {
  return built("squeeze", {a}, [&](Builder& builder, Ids ids) {
    return ops::squeeze(builder, ids[0], axes);
  });
}
Tensor broadcast_to(const Tensor& a, Extents shape) {
  return built("broadcast_to", {a}, [&](Builder& builder, Ids ids) {
    return ops::broadcast_to(builder, ids[0], runtime::shape_of(shape));
  });
}
Tensor concat(const std::vector<Tensor>& parts, std::int64_t axis) {
  return built("concat", parts, [&](Builder& builder, Ids ids) {
    return ops::concat(builder, {ids.begin(), ids.end()}, axis);
  });
}
Tensor stack(const std::vector<Tensor>& parts, std::int64_t axis) {
  return built("stack", parts, [&](Builder& builder, Ids ids) {
    return ops::stack(builder, {ids.begin(), ids.end()}, axis);
  });
}
std::vector<Tensor> split(const Tensor& a, std::int64_t parts,
                          std::int64_t axis) {
  return runtime::all_built("split", {a}, [&](Builder& builder, Ids ids) {
    // An empty axis has any number of equal parts; memory has not.
    if (parts > kMostParts) {
      refuse(builder, "split", ids[0],
             fmt::format("into {} parts, but {} at most", parts, kMostParts));
    }
    return ops::split_equally(builder, ids[0], axis, parts);
  });
}
std::vector<Tensor> split_with_sizes(const Tensor& a,
                                     const std::vector<std::int64_t>& sizes,
                                     std::int64_t axis) {
  return runtime::all_built(
      "split_with_sizes", {a}, [&](Builder& builder, Ids ids) {
        const Shape shape = builder.type(ids[0]).shape;
        const auto at = ops::axis_of(shape.rank(), axis);
        // To the op sizes are multiples of it; here they are numbers.
        if (at && shape[*at].per_batch) {
          refuse(builder, "split_with_sizes", ids[0],
                 "the batch, B, is open while the function is traced");
        }
        return ops::split(builder, ids[0], axis, sizes);
      });
}
Tensor pad(const Tensor& a,
           const std::vector<std::array<std::int64_t, 2>>& amounts,
           double value) {
  return built("pad", {a}, [&](Builder& builder, Ids ids) {
    const int rank = builder.type(ids[0]).shape.rank();
    if (std::ssize(amounts) != rank) {
      refuse(
          builder, "pad", ids[0],
          fmt::format("takes an amount before and one after each of {} axes, "
                      "not of {}",
                      rank, amounts.size()));
    }
    std::vector<std::int64_t> before, after;
    for (const auto& amount : amounts) {
      before.push_back(amount[0]);
      after.push_back(amount[1]);
    }
    return ops::pad(builder, ids[0], before, after, value);
  });
}
Tensor gather(const Tensor& a, const Tensor& indices, std::int64_t axis) {
  return built("gather", {a, indices}, [&](Builder& builder, Ids ids) {
    return ops::gather(builder, ids[0], ids[1], axis);
  });
}
Tensor one_hot(const Tensor& indices, std::int64_t depth, DType dtype) {
  return built("one_hot", {indices}, [&](Builder& builder, Ids ids) {
    return ops::one_hot(builder, ids[0], depth, dtype);
  });
}

TopK top_k(const Tensor& a, std::int64_t k) {
  const auto both =
      runtime::all_built("top_k", {a}, [&](Builder& builder, Ids ids) {
        if (builder.type(ids[0]).shape.rank() < 1) {
          refuse(builder, "top_k", ids[0], "takes one axis or more");
        }
        const ops::TopK made = ops::topk(builder, ids[0], k);
        return std::vector{made.values, made.indices};
      });
  return {both[0], both[1]};
}

Tensor softmax_cross_entropy_with_logits(const Tensor& labels,
                                         const Tensor& logits) {
  return built("softmax_cross_entropy_with_logits", {labels, logits},
               [&](Builder& builder, Ids ids) {
                 return ops::softmax_cross_entropy(builder, ids[1], ids[0]);
               });
}
Tensor sparse_softmax_cross_entropy_with_logits(const Tensor& labels,
                                                const Tensor& logits) {
  return built(
      "sparse_softmax_cross_entropy_with_logits",
      {labels.cast(DType::i32), logits}, [&](Builder& builder, Ids ids) {
        return ops::sparse_softmax_cross_entropy(builder, ids[1], ids[0]);
      });
}
Tensor sigmoid_cross_entropy_with_logits(const Tensor& labels,
                                         const Tensor& logits) {
  return built(
      "sigmoid_cross_entropy_with_logits",
      {labels.cast(logits.dtype()), logits}, [&](Builder& builder, Ids ids) {
        if (builder.type(ids[0]) != builder.type(ids[1])) {
          builder.fail({ErrorCode::bad_input,
                        fmt::format("sigmoid_cross_entropy_with_logits: labels "
                                    "{} do not fit logits {}",
                                    builder.type(ids[0]).to_string(),
                                    builder.type(ids[1]).to_string())});
          return ValueId();
        }
        return ops::bce_logits(builder, ids[1], ids[0]);
      });
}

}  // namespace plimsoll
