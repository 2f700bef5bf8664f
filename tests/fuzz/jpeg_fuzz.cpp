#include "data/maps/decode.h"
#include "fuzz/image_fuzz.h"

using namespace plimsoll;

namespace {

constexpr std::size_t kGuard = 64;
constexpr std::byte kMark{0xa7};

// Memory with marks behind it, at an address of 64.
class Guarded {
 public:
  std::span<std::byte> take(std::int64_t bytes) {
    const auto size = static_cast<std::size_t>(bytes);
    if (memory_.size() < size + 2 * kGuard) memory_.resize(size + 2 * kGuard);
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    taken_ = std::span(memory_).subspan((kGuard - address % kGuard) % kGuard);
    std::fill_n(taken_.data() + size, kGuard, kMark);
    return taken_ = taken_.first(size);
  }
  void check() const {
    const std::byte* end = taken_.data() + taken_.size();
    fuzz::require(std::count(end, end + kGuard, kMark) == kGuard,
                  "nothing is written behind what was given");
  }

 private:
  std::vector<std::byte> memory_;
  std::span<std::byte> taken_;
};

void decode_resized(std::span<const std::byte> bytes, unsigned settings) {
  constexpr int kChannels[] = {3, 1, 3, 4};
  data::DecodeImageOptions options;
  options.channels = kChannels[settings & 3];
  options.largest = {256, 256};
  options.resize_to = {static_cast<int>(settings * 7 % 40) + 1,
                       static_cast<int>(settings % 23) + 1};
  if ((settings & 32) != 0) options.at_least = {9, 9};
  const auto map = data::decode_image(options);
  data::FieldSpec spec{"x", DType::u8, {data::kVaries}, 1 << 20};
  const auto bound = map->bind({spec});
  fuzz::require(bound.ok(), "the map takes files");
  static Guarded out;
  static Guarded scratch;
  const auto size = static_cast<std::int64_t>(bytes.size());
  data::Element in;
  in.values[0] = {bytes.data(), size, {size}};
  data::Element made;
  std::byte* const buffers[] = {out.take((*bound)[0].most_bytes).data()};
  const auto done =
      map->apply(in, made, buffers, {scratch.take(map->scratch_bytes())});
  out.check();
  scratch.check();
  if (!done) {
    fuzz::require(done.error().message.find("memory") == std::string::npos,
                  "the planned scratch is enough");
    return;
  }
  const auto* values = reinterpret_cast<const float*>(buffers[0]);
  const auto count = (*bound)[0].most_bytes / 4;
  fuzz::require(made.values[0].bytes == count * 4 &&
                    std::all_of(values, values + count,
                                [](float v) { return v >= 0 && v <= 255; }),
                "every value is a level");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const fuzz::Input input(data, size);
  fuzz::decode(input.bytes, input.settings);
  decode_resized(input.bytes, input.settings);
  return 0;
}
