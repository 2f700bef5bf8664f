#include "ops/op_record.h"
#include "ops/records/makers.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {
namespace {

constexpr Range kLogits{-4, 4, false};
constexpr Range kHugeLogits{-1e4, 1e4, false};
constexpr Range kWeights{0, 1, false};

Shape with_classes(const Shape& rows, std::int64_t classes) {
  std::vector<Dim> dims = rows.dims();
  dims.emplace_back(classes);
  return Shape(std::move(dims));
}

}  // namespace

void add_dense_losses(std::vector<OpRecord>& records, const std::string& name,
                      const Shape& rows, std::int64_t classes, Range logits) {
  const graph::TensorType scores{DType::f32, with_classes(rows, classes)};
  OpRecord record;
  record.name = "softmax_cross_entropy_" + name;
  record.op = find_op("softmax_cross_entropy");
  record.inputs = {scores, scores};
  record.ranges = {logits, kWeights};
  record.gradient_of = {0};
  records.push_back(record);
  record.name = "softmax_cross_entropy_grad_" + name;
  record.op = find_op("softmax_cross_entropy_grad");
  record.inputs = {{DType::f32, rows}, scores, scores};
  record.ranges = {{-1, 1}, logits, kWeights};
  record.gradient_of.clear();
  records.push_back(record);
  record.name = "argmax_equals_dense_" + name;
  record.op = find_op("argmax_equals");
  record.inputs = {scores, scores};
  record.ranges = {{0, 3, true}, {0, 2, true}};  // many ties
  record.tolerance = 0;
  records.push_back(record);
}

void add_sparse_losses(std::vector<OpRecord>& records, const std::string& name,
                       const Shape& rows, std::int64_t classes, Range logits,
                       Range labels) {
  const graph::TensorType scores{DType::f32, with_classes(rows, classes)};
  const graph::TensorType indices{DType::i32, rows};
  OpRecord record;
  record.name = "sparse_softmax_cross_entropy_" + name;
  record.op = find_op("sparse_softmax_cross_entropy");
  record.inputs = {scores, indices};
  record.ranges = {logits, labels};
  record.gradient_of = {0};
  records.push_back(record);
  record.name = "sparse_softmax_cross_entropy_grad_" + name;
  record.op = find_op("sparse_softmax_cross_entropy_grad");
  record.inputs = {{DType::f32, rows}, scores, indices};
  record.ranges = {{-1, 1}, logits, labels};
  record.gradient_of.clear();
  records.push_back(record);
  record.name = "argmax_equals_sparse_" + name;
  record.op = find_op("argmax_equals");
  record.inputs = {scores, indices};
  record.ranges = {{0, 3, true}, labels};
  record.tolerance = 0;
  records.push_back(record);
}

void add_linear_losses(std::vector<OpRecord>& records, const std::string& name,
                       const Shape& rows, std::int64_t width,
                       std::int64_t classes, Range labels, bool differences) {
  for (const int form : {0, 1, 2, 3}) {
    const bool transposed = (form & 1) != 0;
    const bool biased = (form & 2) != 0;
    const std::string full_name =
        name + (transposed ? "_tied" : "") + (biased ? "_bias" : "");
    const graph::TensorType x{DType::f32, with_classes(rows, width)};
    const graph::TensorType weight{
        DType::f32, transposed ? Shape{classes, width} : Shape{width, classes}};
    OpRecord record;
    record.name = "linear_cross_entropy_" + full_name;
    record.op = find_op("linear_cross_entropy");
    if (transposed) record.attrs = {{"transposed", true}};
    record.inputs = {x, weight, {DType::i32, rows}};
    record.ranges = {{-2, 2}, {-1, 1}, labels};
    if (differences) record.gradient_of = {0, 1};
    if (biased) {
      record.inputs.push_back({DType::f32, Shape{classes}});
      record.ranges.push_back({-1, 1});
      record.wide_inputs = {3};
      if (differences) record.gradient_of.push_back(3);
    }
    records.push_back(record);
    record.name = "linear_cross_entropy_grad_" + full_name;
    record.op = find_op("linear_cross_entropy_grad");
    record.inputs.insert(record.inputs.begin(), {DType::f32, rows});
    record.ranges.insert(record.ranges.begin(), {-1, 1});
    record.wide_inputs = biased ? std::vector{0, 4} : std::vector{0};
    record.gradient_of.clear();
    records.push_back(record);
  }
}

namespace {

void without_differences(std::vector<OpRecord>& records, std::size_t last) {
  for (std::size_t i = records.size() - last; i < records.size(); ++i) {
    records[i].gradient_of.clear();
  }
}

}  // namespace

std::vector<OpRecord> loss_records() {
  std::vector<OpRecord> records;
  add_dense_losses(records, "rows", {32}, 10, kLogits);
  add_dense_losses(records, "one_row", {}, 21, kLogits);
  add_dense_losses(records, "sequence", {3, 5}, 16, kLogits);
  add_dense_losses(records, "many_rows", {1500}, 33, kLogits);
  without_differences(records, 3);
  add_dense_losses(records, "long_rows", {3}, 1500, kLogits);
  without_differences(records, 3);
  add_dense_losses(records, "huge", {9}, 35, kHugeLogits);
  without_differences(records, 3);

  add_sparse_losses(records, "rows", {32}, 10, kLogits, {0, 9, true});
  add_sparse_losses(records, "one_row", {}, 21, kLogits, {0, 20, true});
  add_sparse_losses(records, "sequence", {3, 5}, 48, kLogits, {0, 47, true});
  add_sparse_losses(records, "many_rows", {1500}, 33, kLogits, {0, 32, true});
  without_differences(records, 3);
  add_sparse_losses(records, "long_rows", {3}, 1500, kLogits, {0, 1499, true});
  without_differences(records, 3);
  add_sparse_losses(records, "huge", {9}, 35, kHugeLogits, {0, 34, true});
  without_differences(records, 3);
  // Some indices name no class: NaN, and no read outside of the row.
  add_sparse_losses(records, "bad_labels", {40}, 5, kLogits, {-3, 8, true});
  without_differences(records, 3);
  add_sparse_losses(records, "wild_labels", {6}, 5, kLogits, {-2e9, 2e9, true});
  without_differences(records, 3);

  add_linear_losses(records, "rows", {12}, 7, 10, {0, 9, true}, true);
  add_linear_losses(records, "one_row", {}, 3, 21, {0, 20, true}, true);
  add_linear_losses(records, "one_class", {5}, 4, 1, {0, 0, true}, true);
  add_linear_losses(records, "narrow", {6}, 1, 9, {0, 8, true}, true);
  add_linear_losses(records, "sequence", {3, 5}, 33, 47, {0, 46, true}, true);
  add_linear_losses(records, "no_rows", {0}, 4, 600, {0, 599, true}, false);
  add_linear_losses(records, "bad_labels", {40}, 6, 5, {-3, 8, true}, false);
  // Several chunks of rows, the last with fewer; several panels of the weight.
  add_linear_losses(records, "chunks", {301}, 33, 9001, {0, 9000, true}, false);
  return records;
}

}  // namespace plimsoll::ops::testing
