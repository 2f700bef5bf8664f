#include "train/data_notes.h"

#include <fmt/core.h>

#include "train/network.h"

namespace plimsoll::train {

std::vector<std::string> notes_on_data(const JobSpec& job,
                                       const JobData& data) {
  std::vector<std::string> notes;
  const DType stored = data.first().features_field().dtype;
  if (takes_indices(job.model) && is_floating(stored)) {
    notes.push_back(fmt::format(
        "The features are {}, and an embedding reads them: they must be whole "
        "numbers.",
        name_of(stored)));
  }
  if (!data.inputs[static_cast<std::size_t>(Stage::train)]) return notes;
  const std::int64_t examples = data.input(Stage::train).examples();
  if (examples == data::kUnknownCount) {
    notes.emplace_back(
        "The examples of the input are not counted: the last, partial batch of "
        "an epoch is left out.");
  } else if (examples < job.train.batch) {
    notes.push_back(fmt::format(
        "The data has {} examples, fewer than a batch of {}: a step takes at "
        "most so many, however large the batch is.",
        examples, job.train.batch));
  }
  return notes;
}

}  // namespace plimsoll::train
