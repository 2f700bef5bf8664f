#include <fmt/format.h>

#include "kernels/kernel_case.h"
#include "ops/convolution/conv_shape.h"
#include "ops/registry.h"

namespace plimsoll::bench {
namespace {

struct Layer {
  std::string_view name;
  std::int64_t batch, size, channels, filters, kernel, stride;
  std::int64_t groups = 1;
};

// As layers of these networks have them: the first without padding, ResNet-50
// and the depthwise ones with their own.
constexpr Layer kLayers[] = {
    {"conv28", 32, 64, 1, 32, 3, 1},
    {"resnet50_stem", 8, 224, 3, 64, 7, 2},
    {"resnet50_2_reduce", 8, 56, 256, 64, 1, 1},
    {"resnet50_2", 8, 56, 64, 64, 3, 1},
    {"resnet50_2_expand", 8, 56, 64, 256, 1, 1},
    {"resnet50_3_stride", 8, 56, 128, 128, 3, 2},
    {"resnet50_3", 8, 28, 128, 128, 3, 1},
    {"resnet50_3_shortcut", 8, 56, 256, 512, 1, 2},
    {"resnet50_4", 8, 14, 256, 256, 3, 1},
    {"resnet50_4_expand", 8, 14, 256, 1024, 1, 1},
    {"resnet50_5", 8, 7, 512, 512, 3, 1},
    {"resnet50_5_expand", 8, 7, 512, 2048, 1, 1},
    {"grouped", 8, 28, 128, 128, 3, 1, 4},
    {"depthwise", 8, 56, 128, 128, 3, 1, 128},
    {"depthwise_stride", 8, 56, 128, 128, 3, 2, 128},
};

void add(std::vector<KernelCase>& all, const Layer& layer, DType dtype) {
  const std::int64_t around = layer.name == "conv28" ? 0 : layer.kernel / 2;
  ops::Conv2dSettings settings;
  settings.strides = {layer.stride, layer.stride};
  settings.padding = {around, around, around, around};
  settings.groups = layer.groups;
  const std::int64_t out =
      ops::conv_extent(settings, 0, layer.size, layer.kernel);
  const graph::TensorType x{
      dtype, {layer.batch, layer.size, layer.size, layer.channels}};
  const graph::TensorType w{dtype,
                            {layer.filters, layer.kernel, layer.kernel,
                             layer.channels / layer.groups}};
  const graph::TensorType y{dtype, {layer.batch, out, out, layer.filters}};
  const auto push = [&](std::string_view op, graph::TypeList inputs,
                        graph::Attrs attrs) {
    all.push_back({fmt::format("{}/{}_{}", op, layer.name, name_of(dtype)),
                   ops::find_op(op), std::move(inputs), std::move(attrs)});
  };
  const graph::Attrs plain = ops::attrs_of(settings);
  push("conv2d", {x, w}, plain);
  graph::Attrs to_data = plain;
  to_data.set("input_shape", x.shape);
  push("conv2d_data_grad", {y, w}, std::move(to_data));
  graph::Attrs to_weights = plain;
  to_weights.set("kernel_shape", w.shape);
  push("conv2d_weight_grad", {y, x}, std::move(to_weights));
}

}  // namespace

std::vector<KernelCase> convolution_cases() {
  std::vector<KernelCase> all;
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    for (const Layer& layer : kLayers) add(all, layer, dtype);
  }
  return all;
}

}  // namespace plimsoll::bench
