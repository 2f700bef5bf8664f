#include "device/cpu/mapped_file.h"

#include <cstdio>
#include <cstring>
#include <fstream>

namespace plimsoll {

std::string mapped_file(const void* start, std::int64_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(start);
  const std::uintptr_t end = first + static_cast<std::uintptr_t>(bytes);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long from = 0;
    unsigned long to = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &from, &to) != 2) continue;
    if (to <= first || from >= end) continue;
    // Names of the system's own, such as [heap], are no files.
    const std::size_t path = line.find('/');
    if (path != std::string::npos) return line.substr(path);
  }
  return {};
}

}  // namespace plimsoll
