// Elements of different sizes, padded to one shape and stacked.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/stream.h"

namespace plimsoll::data {

struct PaddedBatchOptions {
  std::int64_t elements = 32;
  bool whole_only = false;
  // For each field the shape of its padded elements, kVaries standing for the
  // longest of the batch; empty: the longest on every axis that varies.
  std::vector<Extents> shapes;
  std::vector<double> values;  // to pad with, for each field; empty: 0
};

// Fields of which more than one axis varies need a given shape: without one
// nobody knows how large a batch can be.
Result<std::unique_ptr<Stream>> padded_batch_stream(
    std::unique_ptr<Stream> input, const PaddedBatchOptions& options);

}  // namespace plimsoll::data
