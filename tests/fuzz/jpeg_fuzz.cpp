#include "fuzz/image_fuzz.h"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const fuzz::Input input(data, size);
  fuzz::decode(input.bytes, input.settings);
  return 0;
}
