#include "data/streams/element_slots.h"

#include <fmt/core.h>

#include <cstring>

namespace plimsoll::data {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 56;

}  // namespace

ElementSlots::ElementSlots(const ElementSpec& spec, std::uint32_t kept)
    : spec_(spec) {
  std::int64_t end = round_up(
      static_cast<std::int64_t>(sizeof(Head) + spec.size() * sizeof(Value)),
      kAlignment);
  for (std::size_t i = 0; i < spec.size(); ++i) {
    offsets_[i] = end;
    if ((kept >> i & 1) == 0) continue;
    // Sizes past what check() allows stay there instead of wrapping around.
    end += round_up(std::min(spec[i].most_bytes, kMostBytes), kAlignment);
  }
  slot_bytes_ = end;
}

Status ElementSlots::check(const std::string& stage, std::int64_t count) const {
  std::int64_t bytes = 0;
  if (count < 0 || __builtin_mul_overflow(count, slot_bytes_, &bytes) ||
      bytes > kMostBytes) {
    return Error{ErrorCode::bad_input,
                 fmt::format("{}: {} elements of up to {} bytes each are more "
                             "than memory can have",
                             stage, count, slot_bytes_)};
  }
  return {};
}

void ElementSlots::place(Placer& placer, const std::string& stage,
                         const std::string& what, std::int64_t count) {
  base_ = placer.take(stage, what, slot_bytes_ * count);
}

void ElementSlots::put_view(std::int64_t slot, const Element& element) {
  std::byte* const at = base_ + slot * slot_bytes_;
  const Head head = {element.index, element.offset, element.file};
  std::memcpy(at, &head, sizeof(head));
  std::memcpy(at + sizeof(head), element.values.data(),
              spec_.size() * sizeof(Value));
}

Status ElementSlots::put(std::int64_t slot, const Element& element) {
  put_view(slot, element);
  std::byte* const at = base_ + slot * slot_bytes_;
  for (std::size_t i = 0; i < spec_.size(); ++i) {
    Value value = element.values[i];
    if (value.bytes < 0 || value.bytes > spec_[i].most_bytes) {
      return Error{ErrorCode::bad_input,
                   fmt::format("element {}: field {} has {} bytes, but at most "
                               "{} were announced",
                               element.index, spec_[i].name, value.bytes,
                               spec_[i].most_bytes)};
    }
    std::byte* const bytes = at + offsets_[i];
    if (value.bytes > 0) {
      std::memcpy(bytes, value.data, static_cast<std::size_t>(value.bytes));
    }
    value.data = bytes;
    std::memcpy(at + sizeof(Head) + i * sizeof(Value), &value, sizeof(value));
  }
  return {};
}

void ElementSlots::get(std::int64_t slot, Element& out) const {
  const std::byte* const at = base_ + slot * slot_bytes_;
  Head head{};
  std::memcpy(&head, at, sizeof(head));
  out.index = head.index;
  out.offset = head.offset;
  out.file = head.file;
  std::memcpy(out.values.data(), at + sizeof(head),
              spec_.size() * sizeof(Value));
}

}  // namespace plimsoll::data
