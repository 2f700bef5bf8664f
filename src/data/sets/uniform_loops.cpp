// Compiled once for each instruction-set level, see cmake/PlimsollIsa.cmake:
// UniformRow::bits(), uniform_float() and float_to_bf16() again, which must not
// be called here.
#include <cstdint>

namespace plimsoll::data::PLIMSOLL_ISA {
namespace {

inline float element(std::uint32_t x, std::uint32_t salt) {
  x = ((x ^ (x >> 16)) * 0x21F0AAADu) ^ salt;
  x = (x ^ (x >> 15)) * 0xD35A2D97u;
  x ^= x >> 15;
  return static_cast<float>(static_cast<std::int32_t>(x >> 8)) * 0x1p-24f;
}

constexpr std::uint32_t kStep = 0x9E3779B9u;

}  // namespace

void fill_uniform_f32(std::uint32_t first, std::uint32_t salt,
                      std::int64_t count, void* out) noexcept {
  auto* const to = static_cast<float*>(out);
  for (std::int64_t i = 0; i < count; ++i, first += kStep) {
    to[i] = element(first, salt);
  }
}

void fill_uniform_bf16(std::uint32_t first, std::uint32_t salt,
                       std::int64_t count, void* out) noexcept {
  auto* const to = static_cast<std::uint16_t*>(out);
  for (std::int64_t i = 0; i < count; ++i, first += kStep) {
    const auto bits = __builtin_bit_cast(std::uint32_t, element(first, salt));
    to[i] = static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >>
                                       16);
  }
}

}  // namespace plimsoll::data::PLIMSOLL_ISA
