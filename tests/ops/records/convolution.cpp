#include "ops/convolution/convolution.h"

#include <fmt/core.h>

#include <random>

#include "ops/convolution/conv_shape.h"
#include "ops/op_record.h"
#include "ops/random_shapes/random_records.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {
namespace {

struct Size {
  std::int64_t batch, height, width, channels, filters, kernel_height,
      kernel_width;
};

Conv2dSettings same(Conv2dSettings settings, const Size& s) {
  return same_padding(settings, s.height, s.width, s.kernel_height,
                      s.kernel_width);
}

// The convolution and both of its gradients at one shape.
void add(std::vector<OpRecord>& records, const std::string& name, const Size& s,
         const Conv2dSettings& settings, bool differences = true) {
  const Shape x = {s.batch, s.height, s.width, s.channels};
  const Shape w = {s.filters, s.kernel_height, s.kernel_width,
                   s.channels / settings.groups};
  const std::int64_t rows = conv_extent(settings, 0, s.height, s.kernel_height);
  const std::int64_t columns =
      conv_extent(settings, 1, s.width, s.kernel_width);
  const Shape y = {s.batch, rows, columns, s.filters};
  const auto record = [&](const std::string& op, const Shape& a, const Shape& b,
                          std::int64_t terms) {
    OpRecord made;
    made.name = op + "_" + name;
    made.op = find_op(op);
    made.inputs = {{DType::f32, a}, {DType::f32, b}};
    made.attrs = attrs_of(settings);
    // Sums of so many products, each rounded.
    made.tolerance = 2e-6 + 8e-8 * static_cast<double>(terms);
    if (differences) made.gradient_of = {0, 1};
    return made;
  };
  const std::int64_t window = s.kernel_height * s.kernel_width;
  OpRecord forward =
      record("conv2d", x, w, window * s.channels / settings.groups);
  records.push_back(forward);
  forward.name += "_bias";
  forward.inputs.push_back({DType::f32, {s.filters}});
  if (differences) forward.gradient_of = {0, 1, 2};
  records.push_back(forward);
  forward.name += "_relu";
  forward.attrs.set("activation", std::string("relu"));
  records.push_back(forward);
  OpRecord data =
      record("conv2d_data_grad", y, w, window * s.filters / settings.groups);
  data.attrs.set("input_shape", x);
  records.push_back(data);
  OpRecord weights =
      record("conv2d_weight_grad", y, x, s.batch * rows * columns);
  weights.attrs.set("kernel_shape", w);
  records.push_back(weights);
}

bool is_weight_grad(const OpRecord& record) {
  return record.name.starts_with("conv2d_weight_grad_");
}

// A weights' gradient of bf16 or f16 that is not rounded to it.
OpRecord wide_form(const OpRecord& record, DType dtype) {
  OpRecord made = record;
  made.name = fmt::format("{}_{}_to_f32", record.name, name_of(dtype));
  for (graph::TensorType& type : made.inputs) type.dtype = dtype;
  made.attrs.set("out", std::string("f32"));
  made.gradient_of.clear();
  return made;
}

void add_wide(std::vector<OpRecord>& records) {
  std::vector<OpRecord> wide;
  for (const OpRecord& record : records) {
    if (!is_weight_grad(record)) continue;
    const std::string_view shape = std::string_view(record.name).substr(19);
    if (shape != "same" && shape != "no_images" && shape != "blocks_stride" &&
        shape != "blocks_pointwise" && shape != "blocks_groups" &&
        shape != "wide_depthwise_stride" && shape != "large_colour" &&
        shape != "large_stride" && shape != "dilated_rows" &&
        shape != "few_channels_pointwise_stride") {
      continue;
    }
    for (const DType dtype : {DType::bf16, DType::f16}) {
      wide.push_back(wide_form(record, dtype));
    }
  }
  records.insert(records.end(), wide.begin(), wide.end());
}

}  // namespace

std::vector<OpRecord> convolution_records() {
  std::vector<OpRecord> records;
  const Size plain = {2, 5, 6, 3, 4, 3, 3};
  add(records, "valid", plain, {});
  add(records, "same", plain, same({}, plain));
  add(records, "stride", plain, same({.strides = {2, 2}}, plain));
  add(records, "strides", plain, {.strides = {3, 1}});
  add(records, "dilation", {1, 9, 8, 2, 3, 3, 3}, {.dilations = {2, 3}});
  add(records, "dilation_stride", {2, 9, 8, 2, 3, 3, 2},
      {.strides = {2, 1}, .dilations = {2, 2}, .padding = {1, 2, 0, 1}});
  add(records, "one_sided", plain, {.padding = {2, 0, 0, 1}});
  add(records, "wide_padding", {1, 3, 3, 2, 2, 2, 2},
      {.padding = {3, 2, 2, 3}});
  add(records, "pointwise", {2, 4, 3, 5, 7, 1, 1}, {});
  add(records, "pointwise_stride", {2, 5, 4, 3, 6, 1, 1}, {.strides = {2, 2}});
  add(records, "five_by_seven", {1, 7, 8, 2, 3, 5, 7}, {});
  add(records, "whole_image", {3, 4, 5, 2, 6, 4, 5}, {});
  add(records, "one", {1, 1, 1, 1, 1, 1, 1}, {});
  add(records, "one_pixel", {2, 1, 1, 3, 2, 3, 3}, {.padding = {1, 1, 1, 1}});
  add(records, "one_row", {2, 1, 9, 2, 3, 1, 3}, {.padding = {0, 0, 1, 1}});
  add(records, "stride_skips", {1, 7, 8, 2, 2, 2, 1}, {.strides = {4, 3}});
  add(records, "groups", {2, 4, 5, 6, 4, 3, 3},
      {.padding = {1, 1, 1, 1}, .groups = 2});
  add(records, "groups_of_one", {1, 5, 4, 3, 6, 3, 2}, {.groups = 3});
  const Size depthwise = {2, 5, 6, 7, 7, 3, 3};
  add(records, "depthwise", depthwise, same({.groups = 7}, depthwise));
  add(records, "depthwise_stride", depthwise,
      same({.strides = {2, 2}, .groups = 7}, depthwise));
  add(records, "no_images", {0, 4, 4, 2, 3, 3, 3}, {}, false);
  // Of the size that blocked kernels need to come into their own.
  const Size first = {2, 28, 28, 1, 32, 3, 3};
  add(records, "one_channel", first, {}, false);
  const Size colour = {1, 31, 33, 3, 16, 7, 7};
  add(records, "colour", colour, same({.strides = {2, 2}}, colour), false);
  const Size blocks = {2, 9, 11, 32, 48, 3, 3};
  add(records, "blocks", blocks, same({}, blocks), false);
  add(records, "blocks_stride", blocks, same({.strides = {2, 2}}, blocks),
      false);
  const Size pixel = {2, 1, 1, 32, 48, 3, 3};
  add(records, "blocks_smaller_than_stride", pixel,
      same({.strides = {2, 2}}, pixel), false);
  add(records, "blocks_dilation", blocks, same({.dilations = {2, 2}}, blocks),
      false);
  add(records, "blocks_pointwise", {2, 9, 11, 64, 80, 1, 1}, {}, false);
  add(records, "odd_channels", {2, 9, 10, 19, 37, 3, 3},
      {.padding = {1, 1, 1, 1}}, false);
  add(records, "blocks_groups", {2, 8, 9, 64, 32, 3, 3},
      {.padding = {1, 1, 1, 1}, .groups = 4}, false);
  const Size wide = {2, 13, 12, 40, 40, 3, 3};
  add(records, "wide_depthwise", wide, same({.groups = 40}, wide), false);
  add(records, "wide_depthwise_stride", wide,
      same({.strides = {2, 2}, .groups = 40}, wide), false);
  // So many products that CUDA's library makes them.
  const Size photo = {1, 48, 48, 3, 16, 7, 7};
  add(records, "large_colour", photo, same({.strides = {2, 2}}, photo), false);
  const Size even = {2, 18, 17, 32, 40, 3, 3};
  add(records, "large_stride", even, same({.strides = {2, 2}}, even), false);
  add(records, "large_one_sided", {2, 14, 14, 16, 24, 3, 3},
      {.padding = {2, 0, 0, 1}}, false);
  add(records, "large_pointwise", {2, 12, 11, 64, 80, 1, 1}, {}, false);
  add(records, "large_pointwise_stride", {2, 24, 22, 64, 80, 1, 1},
      {.strides = {2, 2}}, false);
  // That a library's kernels write or read outside of what is theirs for.
  add(records, "few_channels_pointwise_stride", {1, 12, 15, 3, 11, 1, 1},
      {.strides = {1, 3}}, false);
  add(records, "dilated_rows", {2, 8, 32, 30, 23, 2, 1}, {.dilations = {2, 1}},
      false);
  add(records, "dilated_pixel", {3, 30, 9, 1, 27, 1, 1},
      {.strides = {3, 3}, .dilations = {2, 2}}, false);
  add(records, "large_groups", {2, 16, 16, 32, 32, 3, 3},
      {.padding = {1, 1, 1, 1}, .groups = 4}, false);
  add_wide(records);
  return records;
}

// Small ones, of all the kinds that a library has kernels of their own for.
std::vector<OpRecord> random_convolutions(std::uint64_t seed, int count) {
  constexpr std::int64_t kMostProducts = 4'000'000;
  std::mt19937_64 random(seed);
  const auto one_of = [&](std::initializer_list<std::int64_t> values) {
    return values.begin()[random() % values.size()];
  };
  const auto up_to = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random() %
                                         static_cast<std::uint64_t>(most));
  };
  std::vector<OpRecord> records;
  for (int made = 0; made < count;) {
    const std::int64_t groups = one_of({1, 1, 1, 1, 1, 2, 3, 8, 16, 32});
    const bool depthwise = groups > 1 && one_of({0, 1}) == 1;
    const std::int64_t channels = groups * (depthwise ? 1 : up_to(40));
    const std::int64_t filters = groups * (depthwise ? 1 : up_to(40));
    const Size size = {up_to(8),
                       up_to(40),
                       up_to(40),
                       channels,
                       filters,
                       one_of({1, 1, 1, 2, 3, 3, 5, 7}),
                       one_of({1, 1, 1, 2, 3, 3, 5, 7})};
    Conv2dSettings settings = {
        .strides = {one_of({1, 1, 2, 2, 3}), one_of({1, 1, 2, 2, 3})},
        .dilations = {one_of({1, 1, 1, 2}), one_of({1, 1, 1, 2})},
        .groups = groups};
    if (one_of({0, 1}) == 1) settings = same(settings, size);
    const std::int64_t rows =
        conv_extent(settings, 0, size.height, size.kernel_height);
    const std::int64_t columns =
        conv_extent(settings, 1, size.width, size.kernel_width);
    if (rows < 1 || columns < 1) continue;
    const std::int64_t products = size.batch * rows * columns * filters *
                                  channels / groups * size.kernel_height *
                                  size.kernel_width;
    if (products > kMostProducts) continue;
    add(records, fmt::format("random_{}_{}", seed, made++), size, settings,
        false);
    records.push_back(wide_form(records.back(), DType::bf16));
  }
  return records;
}

}  // namespace plimsoll::ops::testing
