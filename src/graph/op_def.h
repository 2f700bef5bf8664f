// What the graph knows of an op: shapes, cost, gradient, aliasing. The
// definitions live in ops/<family>/; kernels are reached through the
// KernelCatalog and never from here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/shape.h"
#include "graph/attrs.h"
#include "graph/elementwise.h"

namespace plimsoll::graph {

using ValueId = Id<struct ValueTag>;
using NodeId = Id<struct NodeTag>;

struct TensorType {
  DType dtype = DType::f32;
  Shape shape;

  TensorType at(std::int64_t batch) const { return {dtype, shape.at(batch)}; }
  // Bytes of a dense row-major tensor; the shape must be fixed.
  std::int64_t bytes() const { return shape.elements() * size_of(dtype); }
  std::string to_string() const;  // "f32[B, 128]"
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

using TypeList = std::vector<TensorType>;

// "f32[B, 128], i32[B]"
std::string to_string(std::span<const TensorType> types);
// Of all together; shapes must be fixed.
double bytes_of(std::span<const TensorType> types);

struct Cost {
  double flops = 0;
  double bytes = 0;  // read and written
};

// Output `output` may live in the buffer of input `input`: element i of the
// output depends on that input's elements i only (or on all of them, read
// before the first write).
struct InPlace {
  int input = 0;
  int output = 0;
};

class Builder;
struct Node;

struct GradientContext {
  Builder& builder;
  NodeId node;
  // One a forward output; an invalid id where nothing flows back.
  std::span<const ValueId> output_gradients;
};

struct OpDef {
  std::string_view name;

  // Types of the outputs, or an error that names the shapes and what is right.
  Result<TypeList> (*infer)(std::span<const TensorType> inputs,
                            const Attrs& attrs) = nullptr;
  // Work at fixed shapes.
  Cost (*cost)(std::span<const TensorType> inputs,
               std::span<const TensorType> outputs,
               const Attrs& attrs) = nullptr;
  // One gradient a input; an invalid id for an input that has none. Null:
  // the op is not differentiable and says so when asked.
  Result<std::vector<ValueId>> (*gradient)(GradientContext& context) = nullptr;

  std::vector<InPlace> in_place = {};
  // The single output is the input's bytes under another shape.
  bool is_view = false;
  // May be run again instead of keeping its outputs.
  bool recomputable = true;
  // Set for ops that the fused element-wise kernel can run.
  std::optional<ElementwiseCode> elementwise = {};
};

}  // namespace plimsoll::graph
