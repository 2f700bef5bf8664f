#include "device/cpu/cpu_info.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "memory/cgroup.h"
#include "memory/proc_text.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace plimsoll {
namespace {

#if defined(__x86_64__)

// The kernel must save the tile registers, or the first tile traps.
bool system_saves_tiles() {
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) {
    return false;
  }
  std::uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr std::uint32_t kTiles = 3u << 17;
  return (low & kTiles) == kTiles;
}

bool has_amx() {
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr std::uint32_t kTileAndBf16 = (1u << 24) | (1u << 22);
  return (d & kTileAndBf16) == kTileAndBf16 && system_saves_tiles();
}

InstructionSet read_instruction_set() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    return InstructionSet::generic;
  }
  const bool avx512 =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  if (!avx512) return InstructionSet::avx2;
  return has_amx() ? InstructionSet::amx : InstructionSet::avx512;
}

std::string read_brand() {
  std::array<std::uint32_t, 12> words{};
  for (std::uint32_t i = 0; i < 3; ++i) {
    std::uint32_t* w = &words[i * 4];
    if (__get_cpuid(0x80000002u + i, w, w + 1, w + 2, w + 3) == 0) return "";
  }
  std::array<char, sizeof(words) + 1> text{};
  std::memcpy(text.data(), words.data(), sizeof(words));
  return text.data();
}

#else

InstructionSet read_instruction_set() { return InstructionSet::generic; }
std::string read_brand() { return ""; }

#endif

std::string trimmed(std::string text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
  text.erase(0, text.find_first_not_of(' '));
  return text;
}

std::string brand_or_architecture() {
  std::string brand = trimmed(read_brand());
  if (!brand.empty()) return brand;
#if defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown";
#endif
}

int affinity_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return 1;
  return std::max(CPU_COUNT(&mask), 1);
}

// Cores' worth of time that a group grants; nothing when it sets no quota.
std::optional<double> quota_cores(const CgroupFolder& group) {
  std::optional<std::int64_t> quota, period;
  if (group.version == 2) {
    const auto text = read_text_file(group.folder + "/cpu.max");
    if (!text) return std::nullopt;
    quota = leading_number(*text);  // "max" is no number
    const std::size_t space = text->find(' ');
    if (space != std::string::npos) {
      period = leading_number(std::string_view(*text).substr(space));
    }
  } else {
    quota = read_number_file(group.folder + "/cpu.cfs_quota_us");
    period = read_number_file(group.folder + "/cpu.cfs_period_us");
  }
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

}  // namespace

std::string_view name_of(InstructionSet set) {
  switch (set) {
    case InstructionSet::generic:
      break;
    case InstructionSet::avx2:
      return "avx2";
    case InstructionSet::avx512:
      return "avx512";
    case InstructionSet::amx:
      return "amx";
  }
  return "generic";
}

CpuInfo read_cpu_info(const std::string& root) {
  CpuInfo info;
  info.brand = brand_or_architecture();
  info.instruction_set = read_instruction_set();
  info.affinity_cores = affinity_cores();
  double cores = info.affinity_cores;
  for (const CgroupFolder& group : find_cgroups(root, "cpu")) {
    cores = std::min(cores, quota_cores(group).value_or(cores));
  }
  info.usable_cores = std::max(static_cast<int>(cores), 1);
  return info;
}

}  // namespace plimsoll
