#include "train/checkpoint.h"

#include <fmt/format.h>

#include "io/safetensors.h"

namespace plimsoll::train {

std::string checkpoint_path(const std::string& run_dir) {
  return run_dir + "/checkpoints/last.safetensors";
}

Status save_checkpoint(const std::string& path, RunningJob& job,
                       const History& history) {
  std::vector<io::NamedTensor> tensors;
  for (const plan::StateNeed& state : job.planned().needs.states) {
    tensors.push_back({state.name, state.type.dtype, state.type.shape,
                       job.state(state.name).data()});
  }
  return io::write_safetensors(
      path, tensors,
      {{"format", "plimsoll-checkpoint-1"}, {"history", to_json(history)}});
}

Result<History> load_checkpoint(const std::string& path, RunningJob& job) {
  PLIMSOLL_ASSIGN(const auto file, io::SafetensorsFile::open(path));
  const auto history_text = file.metadata().find("history");
  if (history_text == file.metadata().end()) {
    return Error{ErrorCode::bad_input,
                 path + ": not a checkpoint: the metadata has no `history`"};
  }
  auto history = history_from_json(history_text->second);
  if (!history) {
    return Error{ErrorCode::bad_input, path + ": " + history.error().message};
  }
  for (const plan::StateNeed& state : job.planned().needs.states) {
    const auto* entry = file.find(state.name);
    if (entry == nullptr || entry->dtype != state.type.dtype ||
        !(entry->shape == state.type.shape)) {
      const std::string found =
          entry == nullptr
              ? "nothing"
              : graph::TensorType{entry->dtype, entry->shape}.to_string();
      return Error{
          ErrorCode::bad_input,
          fmt::format("{}: state `{}` is {} in this job, but the "
                      "checkpoint has {}",
                      path, state.name, state.type.to_string(), found)};
    }
  }
  for (const plan::StateNeed& state : job.planned().needs.states) {
    PLIMSOLL_RETURN_IF_ERROR(
        file.read(*file.find(state.name), job.state(state.name)));
  }
  return history;
}

}  // namespace plimsoll::train
