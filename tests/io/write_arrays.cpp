// write_arrays FOLDER: a.npz and a.npy for numpy_reads_test.py.
#include <array>
#include <cstdio>
#include <string>

#include "io/npy.h"
#include "io/npz.h"

using namespace plimsoll;

namespace {

Status write(const std::string& folder) {
  const std::array<float, 6> floats{1, 2, 3, 4, 5, 6.5f};
  const std::array<double, 1> scalar{0.1};
  const std::array<std::int64_t, 2> longs{-1, std::int64_t{1} << 40};
  const std::array<std::uint8_t, 3> bytes{0, 7, 255};
  const std::array<io::NpzPart, 5> parts{{
      {"floats", {DType::f32, {2, 3}}, floats.data()},
      {"scalar", {DType::f64, {}}, scalar.data()},
      {"longs", {DType::i64, {2}}, longs.data()},
      {"bytes", {DType::u8, {3, 1}}, bytes.data()},
      {"empty", {DType::f32, {0, 4}}, floats.data()},
  }};
  PLIMSOLL_RETURN_IF_ERROR(io::write_npz(folder + "/a.npz", parts));
  return io::write_npy(folder + "/a.npy", parts[0].header, floats.data());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto status = write(argv[1]);
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
