#include "base/dtype.h"

#include <array>
#include <cstddef>

namespace plimsoll {
namespace {

struct DTypeFacts {
  std::string_view name;
  std::int64_t bytes;
};

constexpr std::array<DTypeFacts, 13> kFacts = {{{"f32", 4},
                                                {"f64", 8},
                                                {"bf16", 2},
                                                {"f16", 2},
                                                {"i8", 1},
                                                {"i16", 2},
                                                {"i32", 4},
                                                {"i64", 8},
                                                {"u8", 1},
                                                {"u16", 2},
                                                {"u32", 4},
                                                {"u64", 8},
                                                {"bool", 1}}};
static_assert(kFacts.size() == static_cast<std::size_t>(DType::boolean) + 1);

}  // namespace

std::int64_t size_of(DType dtype) {
  return kFacts[static_cast<std::size_t>(dtype)].bytes;
}

std::string_view name_of(DType dtype) {
  return kFacts[static_cast<std::size_t>(dtype)].name;
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (std::size_t i = 0; i < kFacts.size(); ++i) {
    if (kFacts[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace plimsoll
