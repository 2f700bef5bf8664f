// A model's weights outside of its jobs: by name, and as files.
#include <fmt/core.h>

#include <cstring>

#include "base/units.h"
#include "train/model_impl.h"
#include "train/weights_file.h"

namespace plimsoll {
namespace {

using train::RunningJob;

// For pieces of weights that lie on a device.
constexpr std::size_t kRoomBytes = 256 * kKiB;

}  // namespace

std::vector<double> Model::weights(const std::string& name) const {
  impl().state().machine();  // throws once it is closed
  if (!impl().kept.states.empty()) impl().state().use_device();
  const auto bytes = value_or_throw(impl().kept.read(name));
  if (bytes.empty()) {
    throw_error({ErrorCode::bad_input,
                 fmt::format("the model has no weights named `{}` yet", name)});
  }
  std::vector<double> values;
  if (impl().kept.dtype(name) == DType::f64) {
    values.resize(bytes.size() / sizeof(double));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::vector<float> narrow(bytes.size() / sizeof(float));
  std::memcpy(narrow.data(), bytes.data(), bytes.size());
  values.assign(narrow.begin(), narrow.end());
  return values;
}

void Model::save_weights(const std::string& path) const {
  impl().state().machine();  // throws once it is closed
  if (impl().fitting != nullptr) {
    throw_if_error(impl().fitting->finish());
    throw_if_error(train::save_weights(
        path, impl().fitting->planned().needs.states,
        [&](std::size_t index, std::int64_t offset, std::int64_t bytes) {
          return impl().fitting->state_piece(index, offset, bytes);
        }));
    return;
  }
  const train::KeptStates& kept = impl().kept;
  if (kept.states.empty()) {
    throw_error({ErrorCode::bad_input,
                 fmt::format("{}: the model has no weights to save yet: call "
                             "fit() first",
                             path)});
  }
  impl().state().use_device();
  std::vector<std::byte> room(kRoomBytes);
  throw_if_error(train::save_weights(
      path, kept.states,
      [&](std::size_t index, std::int64_t offset, std::int64_t bytes) {
        return kept.piece(index, offset, bytes, room);
      }));
}

void Model::load_weights(const std::string& path) {
  impl().state().machine();  // throws once it is closed
  auto file = std::make_unique<io::SafetensorsFile>(
      value_or_throw(io::SafetensorsFile::open(path)));
  RunningJob* const running = impl().fitting;
  train::KeptStates& kept = impl().kept;
  // Weights of another type wait for a job as well: it will have those of the
  // type that compile() was given.
  if (running == nullptr && (kept.states.empty() || !impl().has_its_type())) {
    impl().weights_file = std::move(file);
    return;
  }
  const auto& states =
      running != nullptr ? running->planned().needs.states : kept.states;
  throw_if_error(train::check_weights(*file, states));
  if (running != nullptr) {
    throw_if_error(running->finish());
    throw_if_error(train::fill_weights(
        *file, states,
        [&](std::size_t index, const RunningJob::FillPiece& fill) {
          return running->fill_state(index, fill);
        }));
    return;
  }
  impl().state().use_device();
  std::vector<std::byte> room(kRoomBytes);
  throw_if_error(train::fill_weights(
      *file, states, [&](std::size_t index, const RunningJob::FillPiece& fill) {
        return kept.fill(index, room, fill);
      }));
}

}  // namespace plimsoll
