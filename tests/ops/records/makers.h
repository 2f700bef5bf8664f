// How families make their records, for shapes that are written down and for
// those that are drawn.
#pragma once

#include <string>
#include <vector>

#include "graph/layout.h"
#include "ops/normalization/norm_form.h"
#include "ops/op_record.h"
#include "ops/pooling/pooling.h"
#include "ops/update/update_form.h"

namespace plimsoll::ops::testing {

// One code alone; without ranges: where it is defined and stays moderate.
OpRecord elementwise_record(graph::ElementwiseCode code,
                            const std::string& name, std::vector<Shape> shapes,
                            std::vector<Range> ranges = {});
std::vector<Range> elementwise_ranges(graph::ElementwiseCode code);
OpRecord fused_record(const std::string& name, std::vector<Shape> shapes,
                      std::vector<graph::ElementwiseInstruction> instructions,
                      std::vector<int> results);

// Inputs of an op of this family for x of this shape, as its form tells.
OpRecord norm_record(std::string name, NormKind kind, bool gradient, Shape x,
                     graph::Attrs attrs);

// The largest and the mean, each with its gradient.
void add_poolings(std::vector<OpRecord>& records, const std::string& name,
                  const Shape& images, const Pool2dSettings& settings,
                  bool differences);

struct AttentionSizes {
  std::int64_t batch = 1;
  std::int64_t queries = 1;
  std::int64_t keys = 1;
  std::int64_t heads = 1;
  std::int64_t key_heads = 1;
  std::int64_t width = 1;
};
// The op and its gradient; an empty mask: none.
void add_attention(std::vector<OpRecord>& records, const std::string& name,
                   const AttentionSizes& sizes, const graph::Attrs& attrs,
                   const Shape& mask, Range mask_values = {0, 1, true});

// A loss, its gradient and the accuracy of one shape and range.
void add_dense_losses(std::vector<OpRecord>& records, const std::string& name,
                      const Shape& rows, std::int64_t classes, Range logits);
void add_sparse_losses(std::vector<OpRecord>& records, const std::string& name,
                       const Shape& rows, std::int64_t classes, Range logits,
                       Range labels);
// Both ways round of the weight, with a bias and without.
void add_linear_losses(std::vector<OpRecord>& records, const std::string& name,
                       const Shape& rows, std::int64_t width,
                       std::int64_t classes, Range labels, bool differences);

// Values of whole numbers where the dtype is, 0 to 100.
OpRecord indexing_record(std::string name, std::string_view op,
                         graph::TypeList inputs, graph::Attrs attrs);

// Rows of a table that a batch names.
struct Lookup {
  std::string name;
  Shape indices;
  std::int64_t rows = 1;
  std::int64_t width = 1;
  Range range;  // of the indices
  DType dtype = DType::i32;

  graph::TensorType table() const { return {DType::f32, Shape{rows, width}}; }
  graph::TensorType picked() const {
    std::vector<Dim> dims = indices.dims();
    dims.emplace_back(width);
    return {DType::f32, Shape(std::move(dims))};
  }
};
OpRecord embedding_record(const Lookup& lookup);
OpRecord embedding_grad_record(const Lookup& lookup);
OpRecord row_update_record(const Lookup& lookup, UpdateRule rule,
                           graph::Attrs attrs);

// An update by the rule, without a gate.
OpRecord update_record(const std::string& suffix, const UpdateForm& form,
                       const Shape& shape);
graph::Attrs update_attrs(UpdateRule rule);

// Both methods, each with its gradient.
void add_resizes(std::vector<OpRecord>& records, const std::string& name,
                 const Shape& images, std::int64_t height, std::int64_t width,
                 bool differences);

struct RecurrentSizes {
  std::int64_t batch = 1;
  std::int64_t steps = 1;
  std::int64_t hidden = 1;
};
// Both cells and their gradients, with weights that keep long sums near 1.
void add_recurrent(std::vector<OpRecord>& records, const std::string& name,
                   RecurrentSizes sizes, bool differences);

// A tensor in the layout and back.
void add_packed(std::vector<OpRecord>& records, const std::string& name,
                Shape shape, const graph::Layout& layout, DType dtype);

}  // namespace plimsoll::ops::testing
