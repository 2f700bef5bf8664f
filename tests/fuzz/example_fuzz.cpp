#include <array>

#include "fuzz/fuzz_input.h"
#include "io/example.h"

using namespace plimsoll;

namespace {

struct Values {
  std::array<float, 4> x{};
  std::array<std::int64_t, 3> y{};
  std::array<std::span<const std::byte>, 2> image{};
  std::int64_t one = 0;
  std::array<io::FeatureMemory, 4> memory{};

  Values() {
    memory[0].floats = x.data();
    memory[1].int64s = y.data();
    memory[2].bytes = image.data();
    memory[3].int64s = &one;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const fuzz::Input input(data, size);
  const bool varies = (input.settings & 1) != 0;
  auto parser =
      io::ExampleParser::create({{"x", io::FeatureKind::floats, 4, varies},
                                 {"y", io::FeatureKind::int64s, 3, true},
                                 {"image", io::FeatureKind::bytes, 2, varies},
                                 {"", io::FeatureKind::int64s, 1, true}});
  fuzz::require(parser.ok(), "the parser can be made");
  Values first;
  const auto status = parser->parse(input.bytes, first.memory);
  // The second time the order is known; the result is the same.
  Values second;
  const auto again = parser->parse(input.bytes, second.memory);
  fuzz::require(status.ok() == again.ok(), "parsing again does the same");
  if (!status) {
    fuzz::require(status.error().message == again.error().message,
                  "parsing again fails in the same way");
    return 0;
  }
  for (std::size_t i = 0; i < first.memory.size(); ++i) {
    const auto& spec = parser->spec()[i];
    const std::int64_t count = first.memory[i].count;
    fuzz::require(count == second.memory[i].count &&
                      (spec.varies ? count <= spec.count : count == spec.count),
                  "a feature has the count that is wanted");
  }
  for (std::int64_t i = 0; i < first.memory[2].count; ++i) {
    fuzz::require(
        fuzz::is_inside(first.image[static_cast<std::size_t>(i)], input.bytes),
        "bytes are inside the record");
  }
  fuzz::require(first.y == second.y && first.one == second.one,
                "numbers are the same again");
  return 0;
}
