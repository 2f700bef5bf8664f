#include "train/kept_states.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/units.h"

namespace plimsoll::train {
namespace {

using graph::Place;
using graph::Role;

constexpr std::int64_t kAlignment = 64;

// Converts by small pieces: nothing is held twice.
template <class From, class To>
Status convert(const KeptStates& kept, std::size_t index, std::int64_t first,
               std::span<To> out) {
  std::array<From, 512> some;
  while (!out.empty()) {
    const auto part = std::span(some).first(std::min(some.size(), out.size()));
    PLIMSOLL_RETURN_IF_ERROR(
        kept.read(index, first * static_cast<std::int64_t>(sizeof(From)),
                  std::as_writable_bytes(part)));
    std::transform(part.begin(), part.end(), out.begin(),
                   [](From value) { return static_cast<To>(value); });
    first += std::ssize(part);
    out = out.subspan(part.size());
  }
  return {};
}

template <class From, class To>
Status convert_bytes(const KeptStates& kept, std::size_t index,
                     std::int64_t offset, std::span<std::byte> out) {
  return convert<From, To>(
      kept, index, offset / static_cast<std::int64_t>(sizeof(To)),
      {reinterpret_cast<To*>(out.data()), out.size() / sizeof(To)});
}

}  // namespace

bool is_weight(const plan::StateNeed& state) {
  return state.role == Role::parameter || state.role == Role::statistic;
}

Status KeptStates::read(std::size_t index, std::int64_t offset,
                        std::span<std::byte> out) const {
  if (states[index].place == graph::Place::home) {
    return memory.read(offsets[index] + offset, out);
  }
  std::copy_n(memory.host() + offsets[index] + offset, out.size(), out.data());
  return {};
}

Result<std::vector<std::byte>> KeptStates::read(std::string_view name) const {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i].name != name) continue;
    bytes.resize(static_cast<std::size_t>(states[i].type.bytes()));
    PLIMSOLL_RETURN_IF_ERROR(read(i, 0, bytes));
  }
  return bytes;
}

std::optional<DType> KeptStates::dtype(std::string_view name) const {
  for (const plan::StateNeed& state : states) {
    if (state.name == name) return state.type.dtype;
  }
  return std::nullopt;
}

std::byte* KeptStates::view(std::size_t index) const {
  return states[index].place == graph::Place::home
             ? memory.view(offsets[index])
             : memory.host() + offsets[index];
}

Result<std::span<const std::byte>> KeptStates::piece(
    std::size_t index, std::int64_t offset, std::int64_t bytes,
    std::span<std::byte> room) const {
  if (const std::byte* here = view(index)) {
    return std::span(here + offset, static_cast<std::size_t>(bytes));
  }
  const auto part =
      room.first(std::min(room.size(), static_cast<std::size_t>(bytes)));
  PLIMSOLL_RETURN_IF_ERROR(memory.read(offsets[index] + offset, part));
  return std::span<const std::byte>(part);
}

Status KeptStates::fill(std::size_t index, std::span<std::byte> room,
                        const FillPiece& fill) {
  const std::int64_t bytes = states[index].type.bytes();
  if (std::byte* here = view(index)) {
    return fill(0, {here, static_cast<std::size_t>(bytes)});
  }
  for (std::int64_t offset = 0; offset < bytes;) {
    const auto part = room.first(
        std::min(room.size(), static_cast<std::size_t>(bytes - offset)));
    PLIMSOLL_RETURN_IF_ERROR(fill(offset, part));
    PLIMSOLL_RETURN_IF_ERROR(memory.write(offsets[index] + offset, part));
    offset += std::ssize(part);
  }
  return {};
}

bool KeptStates::reads_as(std::size_t index,
                          const graph::TensorType& type) const {
  const graph::TensorType& has = states[index].type;
  const auto is_master = [](DType dtype) {
    return dtype == DType::f32 || dtype == DType::f64;
  };
  return has == type || (has.shape == type.shape && is_master(has.dtype) &&
                         is_master(type.dtype));
}

Status KeptStates::read_as(DType dtype, std::size_t index, std::int64_t offset,
                           std::span<std::byte> out) const {
  const DType has = states[index].type.dtype;
  if (has == DType::f32 && dtype == DType::f64) {
    return convert_bytes<float, double>(*this, index, offset, out);
  }
  if (has == DType::f64 && dtype == DType::f32) {
    return convert_bytes<double, float>(*this, index, offset, out);
  }
  return read(index, offset, out);
}

// Weights are in front of all others, in either arena.
Status KeptStates::keep_weights(Ledger& ledger) {
  std::int64_t home_bytes = 0;
  std::int64_t host_bytes = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!is_weight(states[i])) continue;
    auto& end = states[i].place == Place::home ? home_bytes : host_bytes;
    end = std::max(end, offsets[i] + states[i].type.bytes());
    std::swap(states[count], states[i]);
    std::swap(offsets[count], offsets[i]);
    ++count;
  }
  states.resize(count);
  offsets.resize(count);
  return memory.keep_front(home_bytes, host_bytes, ledger);
}

Result<KeptStates> KeptStates::copy_for(Machine& machine) const {
  KeptStates copy;
  std::int64_t bytes = 0;
  for (const plan::StateNeed& state : states) {
    if (!is_weight(state)) continue;
    copy.states.push_back(state);
    copy.states.back().place = Place::host;
    copy.offsets.push_back(bytes);
    bytes += round_up(state.type.bytes(), kAlignment);
  }
  PLIMSOLL_ASSIGN(copy.memory, JobMemory::on_host(bytes, machine));
  std::size_t next = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!is_weight(states[i])) continue;
    const auto size = static_cast<std::size_t>(states[i].type.bytes());
    PLIMSOLL_RETURN_IF_ERROR(
        read(i, 0, {copy.memory.host() + copy.offsets[next++], size}));
  }
  return copy;
}

}  // namespace plimsoll::train
