// What a model holds between its jobs.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "plan/job_plan.h"
#include "train/job_memory.h"

namespace plimsoll::train {

// Parameters and statistics: what a model has learned.
bool is_weight(const plan::StateNeed& state);

// States that outlive their job: the front of its arena.
struct KeptStates {
  JobMemory memory;
  std::vector<plan::StateNeed> states;
  std::vector<std::int64_t> offsets;  // in the arena of their place

  Status read(std::size_t index, std::int64_t offset,
              std::span<std::byte> out) const;
  // A copy of a state's bytes; empty when there is none of that name.
  Result<std::vector<std::byte>> read(std::string_view name) const;
  std::optional<DType> dtype(std::string_view name) const;

  // As RunningJob's; `room` is for what lies on a device.
  Result<std::span<const std::byte>> piece(std::size_t index,
                                           std::int64_t offset,
                                           std::int64_t bytes,
                                           std::span<std::byte> room) const;
  // Whether a state is of this type, or of f32 where this is f64, or the other
  // way round; and its elements as those of `dtype`.
  bool reads_as(std::size_t index, const graph::TensorType& type) const;
  Status read_as(DType dtype, std::size_t index, std::int64_t offset,
                 std::span<std::byte> out) const;
  using FillPiece =
      std::function<Status(std::int64_t offset, std::span<std::byte> piece)>;
  Status fill(std::size_t index, std::span<std::byte> room,
              const FillPiece& fill);

  // Gives back what is no parameter and no statistic.
  Status keep_weights(Ledger& ledger);
  // The same weights in another machine's host memory, charged there.
  Result<KeptStates> copy_for(Machine& machine) const;

 private:
  // Where the host can look at it; null on a device.
  std::byte* view(std::size_t index) const;
};

}  // namespace plimsoll::train
