// A record put into another dtype.
#pragma once

#include <algorithm>
#include <string>

#include "graph/kernel_catalog.h"
#include "ops/op_record.h"

namespace plimsoll::ops::testing {

struct TypedRecord {
  const graph::OpDef* op = nullptr;
  graph::Attrs attrs;
  graph::TypeList inputs;
  graph::TypeList outputs;

  graph::KernelQuery query() const { return {op, inputs, outputs, &attrs}; }
};

// Every f32 becomes `dtype` (the record's wide inputs only f64); an error where
// the op does not take it.
inline Result<TypedRecord> in_dtype(const OpRecord& record, DType dtype) {
  TypedRecord typed{record.op, record.attrs, record.inputs, {}};
  for (std::size_t i = 0; i < typed.inputs.size(); ++i) {
    const bool wide =
        std::count(record.wide_inputs.begin(), record.wide_inputs.end(), i) > 0;
    if (typed.inputs[i].dtype != DType::f32) continue;
    typed.inputs[i].dtype = wide && !is_trainable(dtype) ? DType::f32 : dtype;
  }
  // What a cast makes is its own affair; elsewhere it is the common dtype.
  if (record.op->name != "cast" &&
      typed.attrs.get<std::string>("dtype") == "f32") {
    typed.attrs.set("dtype", std::string(name_of(dtype)));
  }
  PLIMSOLL_ASSIGN(typed.outputs, record.op->infer(typed.inputs, typed.attrs));
  return typed;
}

}  // namespace plimsoll::ops::testing
