// What flows through a pipeline: elements of a few arrays each. Plain values
// over memory that somebody else planned; nothing here allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"

namespace plimsoll::data {

inline constexpr int kMostRank = 6;
inline constexpr int kMostFields = 16;
// An extent that differs from element to element.
inline constexpr std::int64_t kVaries = -1;

// The sizes of one array.
struct Extents {
  int rank = 0;
  std::array<std::int64_t, kMostRank> sizes{};

  Extents() = default;
  Extents(std::initializer_list<std::int64_t> of) {
    for (const std::int64_t size : of)
      sizes[static_cast<std::size_t>(rank++)] = size;
  }
  std::int64_t operator[](int axis) const {
    return sizes[static_cast<std::size_t>(axis)];
  }
  bool is_fixed() const {
    for (int i = 0; i < rank; ++i) {
      if ((*this)[i] == kVaries) return false;
    }
    return true;
  }
  // Of a fixed shape whose product is known not to overflow.
  std::int64_t elements() const {
    std::int64_t count = 1;
    for (int i = 0; i < rank; ++i) count *= (*this)[i];
    return count;
  }
  friend bool operator==(const Extents&, const Extents&) = default;
};

// Errors begin with `name`.
Result<Extents> extents_of(const std::string& name,
                           const std::vector<std::int64_t>& sizes);
std::string to_string(const Extents& extents);  // "[224, ?, 3]"

// One field of every element of a set.
struct FieldSpec {
  std::string name;
  DType dtype = DType::f32;
  Extents shape;                // may hold kVaries
  std::int64_t most_bytes = 0;  // of the largest there can be

  friend bool operator==(const FieldSpec&, const FieldSpec&) = default;
};
using ElementSpec = std::vector<FieldSpec>;  // at most kMostFields

std::string to_string(const ElementSpec& spec);  // "x f32 [3], y i32 []"

// The second `labels` of a spec becomes `labels_2`, and so on.
void tell_names_apart(ElementSpec& spec);

// A field of fixed shape.
FieldSpec fixed_field(std::string name, DType dtype, const Extents& shape);

// One array of one element; its dtype stands in the spec.
struct Value {
  const std::byte* data = nullptr;
  std::int64_t bytes = 0;
  Extents shape;
};

struct Element {
  std::int64_t index = 0;   // in the source's own count: for errors and chance
  std::int64_t offset = 0;  // where it begins in its file, bytes
  int file = -1;            // the source's file it came from; -1: none
  std::array<Value, kMostFields> values;
};

}  // namespace plimsoll::data
