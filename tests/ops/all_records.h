// The records of all families, by the family's name.
#pragma once

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "ops/op_record.h"

namespace plimsoll::ops::testing {

struct Family {
  std::string name;
  std::vector<OpRecord> (*records)() = nullptr;
};

// In the names of tests.
inline void PrintTo(const Family& family, std::ostream* out) {
  *out << family.name;
}

// Ops that are defined for what trains, f32 and f64, alone: its updates.
inline bool is_wide_only(const Family& family, const OpRecord& record) {
  return family.name == "update" || record.op->name.ends_with("_rows");
}

inline std::vector<Family> all_families() {
  return {{"elementwise", elementwise_records},
          {"movement", movement_records},
          {"matmul", matmul_records},
          {"reduction", reduction_records},
          {"softmax", softmax_records},
          {"loss", loss_records},
          {"random", random_records},
          {"update", update_records},
          {"indexing", indexing_records},
          {"resize", resize_records},
          {"embedding", embedding_records},
          {"normalization", normalization_records},
          {"convolution", convolution_records},
          {"pooling", pooling_records},
          {"attention", attention_records},
          {"recurrent", recurrent_records}};
}

inline std::vector<OpRecord> all_records() {
  std::vector<OpRecord> all;
  for (const Family& family : all_families()) {
    for (OpRecord& record : family.records()) all.push_back(std::move(record));
  }
  return all;
}

}  // namespace plimsoll::ops::testing
