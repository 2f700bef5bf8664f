// Room for whole elements of a spec: slots of one size in placed memory.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "data/element.h"
#include "data/placer.h"

namespace plimsoll::data {

class ElementSlots {
 public:
  ElementSlots() = default;
  // Room for all fields' bytes, or for those of the bits in `kept`; the other
  // fields' values point elsewhere.
  explicit ElementSlots(const ElementSpec& spec, std::uint32_t kept = ~0u);

  std::int64_t slot_bytes() const { return slot_bytes_; }
  // Whether so many slots are a number of bytes that memory can have.
  Status check(const std::string& stage, std::int64_t count) const;
  void place(Placer& placer, const std::string& stage, const std::string& what,
             std::int64_t count);

  // Copies an element with all its bytes; a field larger than its spec is an
  // error.
  Status put(std::int64_t slot, const Element& element);
  // Keeps an element's values as they are: they point where they point.
  void put_view(std::int64_t slot, const Element& element);
  void get(std::int64_t slot, Element& out) const;
  // Where the bytes of a field go, aligned to 64.
  std::byte* field(std::int64_t slot, std::size_t field) const {
    return base_ + slot * slot_bytes_ + offsets_[field];
  }

 private:
  struct Head {
    std::int64_t index;
    std::int64_t offset;
    int file;
  };

  ElementSpec spec_;
  std::array<std::int64_t, kMostFields> offsets_{};
  std::int64_t slot_bytes_ = 0;
  std::byte* base_ = nullptr;
};

}  // namespace plimsoll::data
