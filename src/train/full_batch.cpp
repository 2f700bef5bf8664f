#include "train/full_batch.h"

#include <fmt/core.h>

#include <algorithm>

namespace plimsoll::train {

Status check_full_batch(const JobSpec& job, const JobInput& input,
                        std::string_view where) {
  const std::int64_t examples = input.examples();
  const std::int64_t batch = job.train.batch;
  if (examples == data::kUnknownCount || examples >= batch) return {};
  const auto& pipeline = job.data.pipeline;
  const bool dropped = std::any_of(
      pipeline.begin(), pipeline.end(), [](const data::Recipe& part) {
        return data::makes_batches(part) && !part.flag("remainder", true);
      });
  if (!dropped) return {};
  return Error{
      ErrorCode::bad_input,
      fmt::format("{}{}: {} {}, fewer than a batch of {}, and `remainder` "
                  "is false, which leaves out a partial one: use a smaller "
                  "batch",
                  where, input.input.description, examples,
                  examples == 1 ? "example" : "examples", batch)};
}

Status check_not_empty(std::int64_t examples, std::int64_t batch) {
  if (examples > 0) return {};
  return Error{ErrorCode::io,
               fmt::format("the data has no full batch of {} examples, and a "
                           "partial one is left out where the examples were "
                           "not counted: use a smaller batch",
                           batch)};
}

}  // namespace plimsoll::train
