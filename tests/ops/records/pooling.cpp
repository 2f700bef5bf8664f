#include "ops/pooling/pooling.h"

#include "ops/op_record.h"
#include "ops/records/makers.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {

void add_poolings(std::vector<OpRecord>& records, const std::string& name,
                  const Shape& images, const Pool2dSettings& settings,
                  bool differences) {
  const auto numbers = [](const auto& array) {
    return std::vector<std::int64_t>(array.begin(), array.end());
  };
  for (const std::string kind : {"max", "avg"}) {
    OpRecord record;
    record.name = kind + "_pool2d_" + name;
    record.op = find_op(kind + "_pool2d");
    record.inputs = {{DType::f32, images}};
    record.attrs = {{"window", numbers(settings.window)},
                    {"strides", numbers(settings.strides)},
                    {"padding", numbers(settings.padding)}};
    record.tolerance = kind == "max" ? 0 : 1e-5;
    if (differences) record.gradient_of = {0};
    record.gradient_outputs = 1;
    const auto made = record.op->infer(record.inputs, record.attrs);
    records.push_back(record);
    if (!made) continue;
    // Back from the result to the images.
    record.name = kind + "_pool2d_grad_" + name;
    record.op = find_op(kind + "_pool2d_grad");
    record.inputs[0] = (*made)[0];
    if (kind == "max") {
      record.inputs.push_back((*made)[1]);
      const std::int64_t last = settings.window[0] * settings.window[1] - 1;
      record.ranges = {{}, {0, static_cast<double>(last), true}};
    }
    record.attrs.set("height", images.extent(1));
    record.attrs.set("width", images.extent(2));
    record.tolerance = 1e-5;
    record.gradient_of.clear();
    records.push_back(record);
  }
}

std::vector<OpRecord> pooling_records() {
  std::vector<OpRecord> records;
  const auto add = [&](const std::string& name, Shape images,
                       const Pool2dSettings& settings,
                       bool differences = true) {
    add_poolings(records, name, images, settings, differences);
  };
  const auto same = [](const Shape& images, Pool2dSettings settings) {
    return same_pool_padding(settings, images.extent(1), images.extent(2));
  };
  add("halved", {2, 6, 8, 16}, {});
  add("few_channels", {2, 4, 6, 3}, {});
  add("one_channel", {1, 5, 7, 1}, {});
  add("left_over", {3, 7, 9, 5}, {});
  add("overlapping", {2, 7, 8, 4}, {{3, 3}, {2, 2}});
  add("every_pixel", {1, 6, 5, 7}, {{3, 2}, {1, 1}});
  add("gaps", {2, 9, 10, 3}, {{2, 2}, {3, 4}});
  add("padded", {2, 7, 6, 5}, {{3, 3}, {2, 2}, {1, 1, 1, 1}});
  add("all_padded", {1, 5, 4, 2}, {{4, 3}, {1, 2}, {3, 2, 1, 2}});
  add("same_odd", {2, 7, 9, 6}, same({2, 7, 9, 6}, {}));
  add("same_wide", {1, 8, 11, 9}, same({1, 8, 11, 9}, {{3, 5}, {2, 3}}));
  add("one_pixel", {3, 1, 1, 17}, {{1, 1}, {1, 1}});
  add("one_pixel_padded", {2, 1, 1, 4}, {{3, 3}, {2, 2}, {1, 1, 1, 1}});
  add("whole", {2, 5, 6, 19}, {{5, 6}, {5, 6}});
  add("tall", {2, 9, 1, 8}, {{3, 1}, {2, 1}});
  add("no_images", {0, 4, 4, 3}, {}, false);
  add("no_channels", {2, 4, 4, 0}, {}, false);
  // Places in it need more than a byte.
  add("large_window", {1, 19, 18, 5}, {{17, 16}, {1, 2}, {0, 0, 3, 2}}, false);
  add("byte_window", {2, 16, 17, 4}, {{16, 16}, {1, 1}});
  // Many windows near a pixel, of many channels; and one that covers all.
  add("dense", {1, 12, 12, 64}, {{3, 3}, {1, 1}, {1, 1, 1, 1}}, false);
  add("wide", {1, 13, 13, 64}, {{5, 5}, {2, 2}}, false);
  add("wide_padded", {1, 12, 12, 64}, {{6, 6}, {2, 2}, {1, 1, 1, 1}}, false);
  add("large_strided", {1, 29, 33, 8}, {{17, 17}, {6, 8}}, false);
  add("one_window", {2, 7, 7, 16}, {{7, 7}, {1, 1}}, false);
  add("large", {4, 61, 47, 24}, {}, false);
  add("resnet", {2, 112, 112, 64}, {{3, 3}, {2, 2}, {1, 1, 1, 1}}, false);
  return records;
}

}  // namespace plimsoll::ops::testing
