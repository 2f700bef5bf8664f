#include "train/weights_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "train/checkpoint.h"
#include "train/kept_states.h"

namespace plimsoll::train {
namespace {

constexpr const char* kWeightsFormat = "plimsoll-weights-1";

bool is_checkpoint(const io::SafetensorsFile& file) {
  const auto format = file.metadata().find("format");
  return format != file.metadata().end() && format->second == kCheckpointFormat;
}

std::string type_text(const io::SafetensorsFile::Entry& entry) {
  return graph::TensorType{entry.dtype, entry.shape}.to_string();
}

// "missing: a, b and 7 more"; nothing for an empty list.
void tell(const char* what, const std::vector<std::string>& names,
          std::string& text) {
  constexpr std::size_t kMostNames = 4;
  if (names.empty()) return;
  text += text.empty() ? "" : "; ";
  text += what;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    text += (i == 0 ? " " : ", ") + names[i];
  }
  if (names.size() > kMostNames) {
    text += fmt::format(" and {} more", names.size() - kMostNames);
  }
}

}  // namespace

Status save_weights(const std::string& path,
                    std::span<const plan::StateNeed> states,
                    const ReadState& read) {
  std::vector<io::NamedTensor> tensors;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!is_weight(states[i])) continue;
    tensors.push_back({states[i].name, states[i].type.dtype,
                       states[i].type.shape, nullptr,
                       [&read, i](std::int64_t offset, std::int64_t bytes) {
                         return read(i, offset, bytes);
                       }});
  }
  return io::write_safetensors(path, tensors, {{"format", kWeightsFormat}});
}

Status check_weights(const io::SafetensorsFile& file,
                     std::span<const plan::StateNeed> states) {
  std::vector<std::string> missing, unexpected, different;
  for (const plan::StateNeed& state : states) {
    if (!is_weight(state)) continue;
    const auto* entry = file.find(state.name);
    const std::string wanted = state.type.to_string();
    if (entry == nullptr) {
      missing.push_back(fmt::format("`{}` ({})", state.name, wanted));
    } else if (type_text(*entry) != wanted) {
      different.push_back(fmt::format("`{}` (the model's is {}, the file's {})",
                                      state.name, wanted, type_text(*entry)));
    }
  }
  for (const auto& entry : file.entries()) {
    const bool known = std::any_of(
        states.begin(), states.end(), [&](const plan::StateNeed& state) {
          return is_weight(state) && state.name == entry.name;
        });
    if (known || is_checkpoint(file)) continue;
    unexpected.push_back(
        fmt::format("`{}` ({})", entry.name, type_text(entry)));
  }
  std::string text;
  tell("missing:", missing, text);
  tell("not in the model:", unexpected, text);
  tell("of another type:", different, text);
  if (text.empty()) return {};
  return Error{
      ErrorCode::bad_input,
      fmt::format("{}: not this model's weights; {}", file.path(), text)};
}

Status fill_weights(const io::SafetensorsFile& file,
                    std::span<const plan::StateNeed> states,
                    const FillState& fill) {
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!is_weight(states[i])) continue;
    const auto& entry = *file.find(states[i].name);
    PLIMSOLL_RETURN_IF_ERROR(
        fill(i, [&](std::int64_t offset, std::span<std::byte> piece) {
          return file.read_piece(entry, offset, piece);
        }));
  }
  return {};
}

}  // namespace plimsoll::train
