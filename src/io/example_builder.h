// Builds tf.train.Example records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace plimsoll::io {

class ExampleBuilder {
 public:
  ExampleBuilder& floats(std::string_view name, std::span<const float> values);
  ExampleBuilder& int64s(std::string_view name,
                         std::span<const std::int64_t> values);
  ExampleBuilder& bytes(std::string_view name,
                        std::span<const std::string_view> values);
  // Of one value.
  ExampleBuilder& int64(std::string_view name, std::int64_t value);
  ExampleBuilder& bytes(std::string_view name, std::string_view value);

  // The record of what was added; afterwards the builder is empty.
  std::string take();

 private:
  ExampleBuilder& add(std::string_view name, int kind, std::string_view list);

  std::string entries_;
};

}  // namespace plimsoll::io
