// Compiled once for each instruction-set level, see cmake/PlimsollIsa.cmake:
// the conversions of base/half.h again, which must not be called here, without
// branches.
#include <cstdint>

namespace plimsoll::io::PLIMSOLL_ISA {

void narrow_to_bf16(const float* in, std::uint16_t* out,
                    std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = __builtin_bit_cast(std::uint32_t, in[i]);
    const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const std::uint32_t nan = (bits >> 16) | 0x40u;
    out[i] = static_cast<std::uint16_t>(
        (bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
  }
}

void narrow_to_f16(const float* in, std::uint16_t* out,
                   std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = __builtin_bit_cast(std::uint32_t, in[i]);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    const std::uint32_t normal =
        (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
    // The adder rounds at the last bit that a subnormal keeps.
    const float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
    const std::uint32_t subnormal =
        __builtin_bit_cast(std::uint32_t, shifted) - 0x3f000000u;
    std::uint32_t half = magnitude < 0x38800000u ? subnormal : normal;
    half = magnitude >= 0x477ff000u ? 0x7c00u : half;
    half = magnitude > 0x7f800000u ? 0x7e00u : half;
    out[i] = static_cast<std::uint16_t>(half | ((bits >> 16) & 0x8000u));
  }
}

}  // namespace plimsoll::io::PLIMSOLL_ISA
