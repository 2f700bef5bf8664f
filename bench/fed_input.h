// An input with a feeder over it in memory of its own, and a consumer.
#pragma once

#include <cstddef>
#include <memory>

#include "data/feeder.h"

namespace plimsoll::data {

class FedInput {
 public:
  // Starts the first epoch.
  static Result<FedInput> open(Input input, const FeederOptions& how);

  // The elements a second of a consumer that takes batches for about `seconds`
  // and is at work on each of them for `work_seconds`.
  Result<double> consume(double seconds, double work_seconds = 0);

  const FeederLayout& layout() const { return layout_; }

 private:
  FedInput() = default;

  struct FreeMemory {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<const Input> input_;  // stays where it is
  FeederLayout layout_;
  std::unique_ptr<std::byte, FreeMemory> memory_;
  std::unique_ptr<BatchFeeder> feeder_;
};

}  // namespace plimsoll::data
