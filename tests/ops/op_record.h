// One case of the op harness: an op at a shape, with what to feed it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/op_def.h"

namespace plimsoll::ops::testing {

struct Range {
  double low = -1;
  double high = 1;
  bool whole_numbers = false;  // class indices, counters
  double nan_share = 0;        // of the values
};

struct OpRecord {
  std::string name;  // unique: "matmul_transposed_a"
  const graph::OpDef* op = nullptr;
  graph::TypeList inputs;  // fixed shapes
  graph::Attrs attrs;
  std::vector<Range> ranges;  // one an input; missing ones are [-1, 1]
  // Largest |kernel - reference| / (1 + |reference|) in f32; f64 is held to
  // the second one where the op computes in f64.
  double tolerance = 1e-5;
  double f64_tolerance = 1e-12;
  // Inputs whose gradient is checked against finite differences in f64. Empty:
  // the op has no gradient.
  std::vector<int> gradient_of;
  double gradient_tolerance = 1e-6;
  // The first outputs that gradients flow back from; 0: all of them.
  int gradient_outputs = 0;
  // Inputs that stay f32 where the others become bf16 or f16.
  std::vector<int> wide_inputs;
};

// Each family's file in tests/ops/records/ defines one of these.
std::vector<OpRecord> elementwise_records();
std::vector<OpRecord> movement_records();
std::vector<OpRecord> matmul_records();
std::vector<OpRecord> reduction_records();
std::vector<OpRecord> softmax_records();
std::vector<OpRecord> loss_records();
std::vector<OpRecord> random_records();
std::vector<OpRecord> update_records();
std::vector<OpRecord> indexing_records();
std::vector<OpRecord> resize_records();
std::vector<OpRecord> embedding_records();
std::vector<OpRecord> normalization_records();
std::vector<OpRecord> convolution_records();
std::vector<OpRecord> pooling_records();
std::vector<OpRecord> attention_records();
std::vector<OpRecord> recurrent_records();

}  // namespace plimsoll::ops::testing
