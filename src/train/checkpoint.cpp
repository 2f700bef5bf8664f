#include "train/checkpoint.h"

#include <fmt/core.h>

#include <string_view>

#include "io/safetensors.h"

namespace plimsoll::train {
namespace {

constexpr const char* kAccumulation = "train.accumulation_steps";

// What a job cannot change between its parts and still be the same training.
io::TextMap identity_of(const JobSpec& job, std::int64_t examples) {
  const TrainSpec& train = job.train;
  return {{"data.source.examples", std::to_string(examples)},
          {kAccumulation, std::to_string(train.accumulation_steps)},
          {"train.batch", std::to_string(train.batch)},
          {"train.loss", train.loss},
          {"train.optimizer.type", train.optimizer.type},
          {"train.precision", std::string(name_of(train.precision))},
          {"train.seed", std::to_string(train.seed)}};
}

Status check_identity(const std::string& path, const io::TextMap& found,
                      const io::TextMap& wanted) {
  for (const auto& [key, value] : wanted) {
    const auto entry = found.find(key);
    if (entry != found.end() && entry->second == value) continue;
    // Not written where each batch has its own update.
    if (entry == found.end() && key == kAccumulation && value == "1") continue;
    return Error{
        ErrorCode::bad_input,
        fmt::format("{}: {} is {} in this job, but the checkpoint has {}", path,
                    key, value,
                    entry == found.end() ? "nothing" : entry->second)};
  }
  return {};
}

}  // namespace

std::string checkpoint_path(const std::string& run_dir) {
  return run_dir + "/checkpoints/last.safetensors";
}

Status save_checkpoint(const std::string& path, RunningJob& job,
                       std::int64_t examples, const History& history) {
  std::vector<io::NamedTensor> tensors;
  const auto& states = job.planned().needs.states;
  for (std::size_t i = 0; i < states.size(); ++i) {
    tensors.push_back({states[i].name, states[i].type.dtype,
                       states[i].type.shape, nullptr,
                       [&job, i](std::int64_t offset, std::int64_t bytes) {
                         return job.state_piece(i, offset, bytes);
                       }});
  }
  io::TextMap metadata = identity_of(job.job(), examples);
  if (job.job().train.accumulation_steps == 1) metadata.erase(kAccumulation);
  metadata["format"] = kCheckpointFormat;
  metadata["history"] = to_json(history);
  return io::write_safetensors(path, tensors, metadata);
}

Result<History> load_checkpoint(const std::string& path, RunningJob& job,
                                std::int64_t examples, RateOf rate) {
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
  PLIMSOLL_RETURN_IF_ERROR(
      check_identity(path, file.metadata(), identity_of(job.job(), examples)));
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
  const auto& states = job.planned().needs.states;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto& entry = *file.find(states[i].name);
    PLIMSOLL_RETURN_IF_ERROR(
        job.fill_state(i, [&](std::int64_t offset, std::span<std::byte> piece) {
          return file.read_piece(entry, offset, piece);
        }));
  }
  if (rate == RateOf::checkpoint) return history;
  PLIMSOLL_RETURN_IF_ERROR(
      job.set_all(kLearningRate, job.job().train.optimizer.learning_rate));
  return history;
}

}  // namespace plimsoll::train
