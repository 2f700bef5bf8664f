#include "ops/op_record.h"
#include "ops/records/makers.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {

void add_resizes(std::vector<OpRecord>& records, const std::string& name,
                 const Shape& images, std::int64_t height, std::int64_t width,
                 bool differences) {
  for (const std::string method : {"bilinear", "nearest"}) {
    OpRecord record;
    record.name = "resize_" + method + "_" + name;
    record.op = find_op("resize");
    record.inputs = {{DType::f32, images}};
    record.attrs = {{"height", height}, {"width", width}, {"method", method}};
    record.tolerance = method == "nearest" ? 0 : 2e-6;
    if (differences) record.gradient_of = {0};
    records.push_back(record);
    // Back from the result to the images.
    record.name = "resize_grad_" + method + "_" + name;
    record.op = find_op("resize_grad");
    record.inputs[0].shape = {images[0], height, width, images[3]};
    record.attrs.set("height", images.extent(1));
    record.attrs.set("width", images.extent(2));
    record.tolerance = 1e-5;
    record.gradient_of.clear();
    records.push_back(record);
  }
}

std::vector<OpRecord> resize_records() {
  std::vector<OpRecord> records;
  const auto add = [&](const std::string& name, Shape images,
                       std::int64_t height, std::int64_t width,
                       bool differences = true) {
    add_resizes(records, name, images, height, width, differences);
  };
  add("same", {2, 3, 4, 3}, 3, 4);
  add("doubled", {2, 3, 4, 3}, 6, 8);
  add("halved", {2, 6, 8, 3}, 3, 4);
  add("odd", {1, 5, 7, 2}, 8, 3);
  add("uneven", {3, 7, 5, 4}, 10, 9);
  add("shrunk", {1, 17, 23, 1}, 3, 5);
  add("from_one", {2, 1, 1, 5}, 4, 3);
  add("to_one", {2, 5, 6, 3}, 1, 1);
  add("one_row", {2, 1, 9, 8}, 1, 4);
  add("wide", {1, 4, 4, 33}, 7, 6);
  add("no_images", {0, 4, 4, 3}, 7, 6, false);
  add("large", {2, 61, 47, 16}, 120, 101, false);
  add("large_down", {2, 200, 150, 3}, 61, 47, false);
  add("long", {1, 1, 30011, 1}, 1, 40009, false);
  return records;
}

}  // namespace plimsoll::ops::testing
