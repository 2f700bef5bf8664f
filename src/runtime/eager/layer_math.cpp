// What layers compute, of tensors: images, normalization, attention.
#include <fmt/core.h>

#include "ops/attention/attention.h"
#include "ops/convolution/convolution.h"
#include "ops/normalization/normalization.h"
#include "ops/pooling/pooling.h"
#include "ops/resize/resize.h"
#include "plimsoll/tensor_math.h"
#include "runtime/eager/tensor_call.h"
#include "runtime/eager/tensor_value.h"

namespace plimsoll {
namespace {

using graph::Builder;
using graph::ValueId;
using runtime::built;
using runtime::refuse;
using Ids = std::span<const ValueId>;

// Of images, or of kernels; 0 where there is none, which their op refuses.
Size2 height_and_width(const Shape& shape) {
  return shape.rank() == 4 ? Size2{shape.extent(1), shape.extent(2)}
                           : Size2{0, 0};
}

bool check_rule(Builder& builder, const char* name, ValueId images,
                const Padding& padding) {
  if (padding.rule.empty() || padding.rule == "valid" ||
      padding.rule == "same") {
    return true;
  }
  refuse(builder, name, images,
         fmt::format("unknown padding `{}`; there are \"valid\", \"same\" and "
                     "numbers",
                     padding.rule));
  return false;
}

using Pool = ValueId (*)(Builder&, ValueId, const ops::Pool2dSettings&);

Tensor pooled(const char* name, Pool pool, const Tensor& images,
              const PoolOptions& options) {
  return built(name, {images}, [&](Builder& builder, Ids ids) {
    if (!check_rule(builder, name, ids[0], options.padding)) return ValueId();
    ops::Pool2dSettings settings;
    settings.window = options.pool_size;
    settings.strides =
        options.strides == Size2{0, 0} ? options.pool_size : options.strides;
    settings.padding = options.padding.amounts;
    const Size2 size = height_and_width(builder.type(ids[0]).shape);
    if (options.padding.rule == "same") {
      settings = ops::same_pool_padding(settings, size[0], size[1]);
    }
    return pool(builder, ids[0], settings);
  });
}

}  // namespace

Tensor conv2d(const Tensor& images, const Tensor& kernel,
              const Conv2dOptions& options) {
  return built("conv2d", {images, kernel}, [&](Builder& builder, Ids ids) {
    if (!check_rule(builder, "conv2d", ids[0], options.padding)) {
      return ValueId();
    }
    ops::Conv2dSettings settings;
    settings.strides = options.strides;
    settings.dilations = options.dilations;
    settings.padding = options.padding.amounts;
    settings.groups = options.groups;
    const Size2 size = height_and_width(builder.type(ids[0]).shape);
    const Size2 reach = height_and_width(builder.type(ids[1]).shape);
    if (options.padding.rule == "same") {
      settings =
          ops::same_padding(settings, size[0], size[1], reach[0], reach[1]);
    }
    return ops::conv2d(builder, ids[0], ids[1], settings);
  });
}

Tensor max_pool2d(const Tensor& images, const PoolOptions& options) {
  return pooled("max_pool2d", ops::max_pool2d, images, options);
}
Tensor avg_pool2d(const Tensor& images, const PoolOptions& options) {
  return pooled("avg_pool2d", ops::avg_pool2d, images, options);
}

Tensor resize(const Tensor& images, Size2 size, const std::string& method) {
  return built("resize", {images}, [&](Builder& builder, Ids ids) {
    if (method != "bilinear" && method != "nearest") {
      refuse(builder, "resize", ids[0],
             fmt::format("unknown method `{}`; there are \"bilinear\" and "
                         "\"nearest\"",
                         method));
      return ValueId();
    }
    return ops::resize(builder, ids[0], size[0], size[1],
                       method == "nearest" ? ops::ResizeMethod::nearest
                                           : ops::ResizeMethod::bilinear);
  });
}

Tensor layer_normalization(const Tensor& x, const Tensor& gamma,
                           const Tensor& beta, double epsilon) {
  std::vector<Tensor> operands = {x};
  for (const Tensor* given : {&gamma, &beta}) {
    if (given->defined()) operands.push_back(*given);
  }
  return built("layer_normalization", operands, [&](Builder& builder, Ids ids) {
    return ops::layer_norm(builder, ids[0],
                           gamma.defined() ? ids[1] : ValueId(),
                           beta.defined() ? ids.back() : ValueId(), epsilon);
  });
}

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k,
                                    const Tensor& v,
                                    const DotProductOptions& options) {
  std::vector<Tensor> operands = {q, k, v};
  if (options.mask.defined()) {
    operands.push_back(options.mask.cast(
        runtime::value_of(q, "scaled_dot_product_attention")->type.dtype));
  }
  return built("scaled_dot_product_attention", operands,
               [&](Builder& builder, Ids ids) {
                 return ops::attention(
                     builder, ids[0], ids[1], ids[2],
                     ids.size() > 3 ? std::optional(ids[3]) : std::nullopt,
                     {.scale = options.scale, .causal = options.causal});
               });
}

Tensor log_softmax(const Tensor& a) {
  const graph::TensorType& type = runtime::value_of(a, "log_softmax")->type;
  if (type.shape.rank() < 1 || !is_floating(type.dtype)) {
    throw_error({ErrorCode::bad_input,
                 fmt::format("log_softmax of {}: takes a floating type and one "
                             "axis or more",
                             type.to_string())});
  }
  // Differences of 16 bits would be rounded before the sum.
  const Tensor x = a.cast(type.dtype == DType::f64 ? DType::f64 : DType::f32);
  // By what is taken away the result does not change, nor its gradient.
  const Tensor shifted = x - stop_gradient(max(x, {-1}, true));
  return (shifted - log(sum(exp(shifted), {-1}, true))).cast(type.dtype);
}

}  // namespace plimsoll
