// Runs a map over elements in memory of just the declared sizes.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "data/map.h"

namespace plimsoll::data {

// One field with its data.
struct Array {
  FieldSpec spec;
  Extents shape;
  std::vector<std::byte> data;
};

template <class T>
Array array_of(DType dtype, const Extents& shape, const std::vector<T>& values,
               std::string name = "x") {
  Array out{fixed_field(std::move(name), dtype, shape), shape, {}};
  out.data.resize(values.size() * sizeof(T));
  if (!values.empty()) {
    std::memcpy(out.data.data(), values.data(), out.data.size());
  }
  return out;
}

// The same with these extents not known beforehand.
inline Array varying(Array array, std::initializer_list<int> axes) {
  for (const int axis : axes) {
    array.spec.shape.sizes[static_cast<std::size_t>(axis)] = kVaries;
  }
  return array;
}

template <class T>
std::vector<T> values_of(const Array& array) {
  std::vector<T> out(array.data.size() / sizeof(T));
  if (!out.empty())
    std::memcpy(out.data(), array.data.data(), out.size() * sizeof(T));
  return out;
}

class MapRunner {
 public:
  explicit MapRunner(std::unique_ptr<Map> map) : map_(std::move(map)) {}

  std::uint64_t seed = 1;
  std::int64_t epoch = 0;
  std::int64_t index = 0;

  Result<ElementSpec> bind(const std::vector<Array>& fields) {
    ElementSpec spec;
    for (const Array& field : fields) spec.push_back(field.spec);
    PLIMSOLL_ASSIGN(out_spec_, map_->bind(spec));
    return out_spec_;
  }

  // After bind().
  Result<std::vector<Array>> apply(const std::vector<Array>& fields) const {
    Element in;
    Element out;
    in.index = out.index = index;
    std::array<std::byte*, kMostFields> buffers{};
    std::vector<std::vector<std::byte>> memory(out_spec_.size());
    for (std::size_t i = 0; i < fields.size(); ++i) {
      in.values[i] = {fields[i].data.data(),
                      static_cast<std::int64_t>(fields[i].data.size()),
                      fields[i].shape};
      if (map_->writes(static_cast<int>(i))) {
        memory[i].resize(static_cast<std::size_t>(out_spec_[i].most_bytes));
        buffers[i] = memory[i].data();
        out.values[i].data = buffers[i];
      } else {
        out.values[i] = in.values[i];
      }
    }
    const std::unique_ptr<std::byte, decltype(&std::free)> scratch(
        static_cast<std::byte*>(std::aligned_alloc(
            64,
            static_cast<std::size_t>(map_->scratch_bytes() + 64) / 64 * 64)),
        &std::free);
    const MapContext context{
        {scratch.get(), static_cast<std::size_t>(map_->scratch_bytes())},
        seed,
        epoch};
    PLIMSOLL_RETURN_IF_ERROR(map_->apply(in, out, buffers, context));
    std::vector<Array> arrays;
    for (std::size_t i = 0; i < out_spec_.size(); ++i) {
      const Value& value = out.values[i];
      arrays.push_back(
          {out_spec_[i], value.shape, {value.data, value.data + value.bytes}});
      EXPECT_EQ(value.bytes,
                value.shape.elements() * size_of(out_spec_[i].dtype));
    }
    return arrays;
  }

  // Binds and applies; the first field.
  Result<Array> run(const Array& field) {
    PLIMSOLL_RETURN_IF_ERROR(bind({field}));
    PLIMSOLL_ASSIGN(const std::vector<Array> out, apply({field}));
    return out[0];
  }
  std::string refusal(const Array& field) {
    const auto out = run(field);
    return out ? "(done)" : out.error().message;
  }

  const Map& map() const { return *map_; }

 private:
  std::unique_ptr<Map> map_;
  ElementSpec out_spec_;
};

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace plimsoll::data
