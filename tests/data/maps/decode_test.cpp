#include "data/maps/decode.h"

#include <gtest/gtest.h>

#include "data/maps/map_runner.h"
#include "io/image_encoders.h"

namespace plimsoll::data {
namespace {

Array file_of(const std::string& bytes) {
  const std::vector<char> values(bytes.begin(), bytes.end());
  Array file =
      array_of(DType::u8, {static_cast<std::int64_t>(bytes.size())}, values);
  return varying(file, {0});
}

TEST(DecodeImageMap, DecodesWhatIsWithinTheDeclaredSize) {
  const io::Picture picture = io::smooth_picture(30, 20, 3);
  MapRunner runner(decode_image({{}, 3, {40, 20}}));
  const Array png = file_of(io::png_file(picture));
  const auto spec = runner.bind({png});
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ((*spec)[0].shape, (Extents{kVaries, kVaries, 3}));
  EXPECT_EQ((*spec)[0].most_bytes, 40 * 20 * 3);
  const auto out = runner.apply({png});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ((*out)[0].shape, (Extents{20, 30, 3}));
  EXPECT_EQ(values_of<std::uint8_t>((*out)[0]), picture.pixels);
  io::JpegStyle style;
  style.progressive = true;
  const Array jpeg =
      file_of(io::jpeg_file(io::smooth_picture(40, 20, 3), style));
  EXPECT_TRUE(runner.apply({jpeg}));
  const Array tall = file_of(io::png_file(io::smooth_picture(30, 21, 3)));
  EXPECT_TRUE(has(runner.apply({tall}).error().message,
                  "an image of 30 by 21 pixels; 40 by 20 were declared"));
  EXPECT_TRUE(has(runner.apply({file_of("GIF")}).error().message,
                  "3 bytes that are neither JPEG nor PNG"));
}

TEST(DecodeImageMap, ProgressiveFilesNeedTheirMemory) {
  io::JpegStyle style;
  style.progressive = true;
  const Array jpeg =
      file_of(io::jpeg_file(io::smooth_picture(400, 400, 3), style));
  MapRunner with(decode_image({{}, 3, {400, 400}}));
  MapRunner without(decode_image({{}, 3, {400, 400}, {}, false}));
  ASSERT_TRUE(with.bind({jpeg}) && without.bind({jpeg}));
  EXPECT_TRUE(with.apply({jpeg}));
  EXPECT_LT(without.map().scratch_bytes(), with.map().scratch_bytes() / 2);
  EXPECT_TRUE(has(without.apply({jpeg}).error().message, "bytes of scratch"));
}

TEST(DecodeImageMap, GivesOtherSizesAndChannels) {
  const Array jpeg = file_of(io::jpeg_file(io::smooth_picture(64, 64, 3)));
  const auto small =
      MapRunner(decode_image({{}, 1, {64, 64}, {16, 10}})).run(jpeg);
  ASSERT_TRUE(small) << small.error().message;
  EXPECT_EQ(small->shape, (Extents{16, 16, 1}));
  const Array grey = file_of(io::png_file(io::smooth_picture(8, 8, 1)));
  const auto stored = MapRunner(decode_image({{}, 0, {64, 64}})).run(grey);
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->spec.shape, (Extents{kVaries, kVaries, kVaries}));
  EXPECT_EQ(stored->shape, (Extents{8, 8, 1}));
}

TEST(DecodeImageMap, RefusesWhatCannotBePlanned) {
  const Array png = file_of(io::png_file(io::smooth_picture(8, 8, 1)));
  EXPECT_TRUE(has(MapRunner(decode_image({})).refusal(png),
                  "say how wide and high images get"));
  EXPECT_TRUE(has(MapRunner(decode_image({{}, 2, {8, 8}})).refusal(png),
                  "2 channels; 1, 3, 4 or 0"));
  EXPECT_TRUE(has(MapRunner(decode_image({{}, 3, {8, 8}}))
                      .refusal(array_of<float>(DType::f32, {1}, {1})),
                  "a field of f32; it should hold the bytes"));
}

}  // namespace
}  // namespace plimsoll::data
