// A feeder with memory of its own, and what its epochs hand out.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "data/feeder.h"

namespace plimsoll::data {

struct FreeDeleter {
  void operator()(void* memory) const { std::free(memory); }
};

struct FedBy {
  std::unique_ptr<void, FreeDeleter> memory;
  Input input;
  std::unique_ptr<BatchFeeder> feeder;

  FedBy(Input over, const FeederOptions& options) : input(std::move(over)) {
    const FeederLayout layout = *feeder_layout(input, options);
    const auto bytes = static_cast<std::size_t>(layout.total_bytes);
    memory.reset(std::aligned_alloc(64, bytes + 64));
    auto made = BatchFeeder::create(
        input, options, layout, {static_cast<std::byte*>(memory.get()), bytes});
    EXPECT_TRUE(made) << made.error().message;
    feeder = *std::move(made);
  }
};

// The labels of the rest of the running epoch; checks sizes, positions, and
// that features and labels belong together.
inline std::vector<std::int32_t> drain(BatchFeeder& feeder, std::int64_t batch,
                                       std::int64_t examples,
                                       std::int64_t position = 0) {
  std::vector<std::int32_t> labels;
  for (;;) {
    const auto next = feeder.next();
    if (!next) {
      ADD_FAILURE() << next.error().message;
      return labels;
    }
    if (next->examples == 0) break;
    EXPECT_EQ(next->first, position);
    EXPECT_EQ(next->examples, std::min(batch, examples - position));
    position += next->examples;
    const auto* x = static_cast<const float*>(next->field(0));
    const auto* y = static_cast<const std::int32_t*>(next->field(1));
    for (std::int64_t i = 0; i < next->examples; ++i) {
      EXPECT_EQ(x[3 * i + 2], static_cast<float>(y[i] * 10 + 2));
      labels.push_back(y[i]);
    }
    feeder.release(next->slot);
  }
  EXPECT_EQ(position, examples);
  return labels;
}

}  // namespace plimsoll::data
