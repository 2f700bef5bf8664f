// write_examples PATH none|gzip: records for tensorflow_reads_test.py.
#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "io/example_builder.h"
#include "io/tfrecord_writer.h"

using namespace plimsoll;

namespace {

Status write(const std::string& path, io::Compression compression) {
  PLIMSOLL_ASSIGN(io::TfRecordWriter writer,
                  io::TfRecordWriter::create(path, compression));
  for (std::int64_t i = 0; i < 1000; ++i) {
    const auto f = static_cast<float>(i);
    const std::array<float, 3> x{f, f + 0.5f, -f};
    const std::array<std::int64_t, 2> ends{i, -i * (std::int64_t{1} << 40)};
    const std::string name(static_cast<std::size_t>(i), 'n');
    const std::string record = io::ExampleBuilder()
                                   .floats("x", x)
                                   .int64s("ends", ends)
                                   .bytes("name", name)
                                   .take();
    PLIMSOLL_RETURN_IF_ERROR(writer.write(std::as_bytes(std::span(record))));
  }
  return writer.finish();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const bool gzip = std::string_view(argv[2]) == "gzip";
  const auto status =
      write(argv[1], gzip ? io::Compression::gzip : io::Compression::none);
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
