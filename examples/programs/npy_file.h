// A NumPy file of examples, written row by row: never more than one in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace example {

// T is float or std::uint8_t; `shape` is that of one example, and make(index,
// values) fills it.
template <class T, class Make>
void write_npy(const std::filesystem::path& path, std::int64_t examples,
               const std::vector<std::int64_t>& shape, const Make& make) {
  std::ostringstream text;
  text << "{'descr': '" << (sizeof(T) == 1 ? "|u1" : "<f4")
       << "', 'fortran_order': False, 'shape': (" << examples << ",";
  std::size_t size = 1;
  for (const std::int64_t extent : shape) {
    text << " " << extent << ",";
    size *= static_cast<std::size_t>(extent);
  }
  text << "), }";
  std::string header = text.str();
  header.resize((header.size() + 10 + 64) / 64 * 64 - 11, ' ');
  header += '\n';
  const auto length = static_cast<unsigned>(header.size());
  std::ofstream file(path, std::ios::binary);
  file.write("\x93NUMPY\x01\x00", 8);
  file.put(static_cast<char>(length % 256));
  file.put(static_cast<char>(length / 256));
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  std::vector<T> row(size);
  for (std::int64_t i = 0; i < examples; ++i) {
    make(i, row.data());
    file.write(reinterpret_cast<const char*>(row.data()),
               static_cast<std::streamsize>(size * sizeof(T)));
  }
  if (!file.flush()) {
    throw std::runtime_error(path.string() + " cannot be written");
  }
}

// The whole file at once, as programs do that have memory to spare.
template <class T>
std::vector<T> read_npy(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  char start[10] = {};
  file.read(start, sizeof start);
  const int length = static_cast<unsigned char>(start[8]) +
                     256 * static_cast<unsigned char>(start[9]);
  file.ignore(length);
  const auto bytes = std::filesystem::file_size(path) - sizeof start -
                     static_cast<std::size_t>(length);
  std::vector<T> values(bytes / sizeof(T));
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(bytes));
  if (!file) throw std::runtime_error(path.string() + " cannot be read");
  return values;
}

}  // namespace example
