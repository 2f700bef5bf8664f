#include "data/maps/resize_planes.h"

#include <algorithm>
#include <array>
#include <span>

#include "data/maps/resize_loops.h"
#include "data/maps/scratch_pieces.h"

namespace plimsoll::data {
namespace {

// The first plane, or the other two, which are alike, sample by sample beside
// each other. First down, then across: down is the cheaper of the two for each
// sample, and leaves fewer rows.
struct Layer {
  int plane = 0;     // the first of
  int channels = 1;  // 1 or 2
  std::int64_t width = 0;
  BetweenTable across;
  BetweenTable down;
  float* between = nullptr;  // one row, resized down
  float* made = nullptr;     // the same, resized across
};
using Layers = std::array<Layer, 2>;

Layers take_layers(ScratchPieces& pieces, std::int64_t widest,
                   const PlaneTarget& target) {
  Layers layers;
  for (int i = 0; i < 2; ++i) {
    Layer& layer = layers[static_cast<std::size_t>(i)];
    layer.plane = i;
    layer.channels = i + 1;
    layer.across = take_table(pieces, target.size.width);
    layer.down = take_table(pieces, target.size.height);
    const std::int64_t row = round_up(widest, io::kPlaneRowPadding);
    layer.between = pieces.take<float>(row * layer.channels + kRowRoom);
    layer.made =
        pieces.take<float>(target.size.width * layer.channels + kRowRoom);
  }
  return layers;
}

void prepare(const io::JpegPlanes& image, Layer& layer) {
  const io::PlaneFacts& facts = image.plane(layer.plane);
  const auto [width, height] = image.image_size();
  fill_between(facts.size.width,
               scale_of(width, layer.across.count) * facts.across_ratio,
               layer.channels, layer.across);
  fill_between(facts.size.height,
               scale_of(height, layer.down.count) * facts.down_ratio, 1,
               layer.down);
  // No loop has to end with less than a full vector.
  layer.width = round_up(facts.size.width, io::kPlaneRowPadding);
  // What `across` reads behind the row counts for nothing, unless it is no
  // number.
  std::fill_n(layer.between + layer.width * layer.channels, kRowRoom, 0.0f);
}

void make_row(const io::JpegPlanes& image, const ResizeLoops& loops,
              const Layer& layer, std::int64_t y, float* made) {
  const int lower = layer.down.lower[y];
  const int upper = layer.down.upper[y];
  const float part = layer.down.part[y];
  const int plane = layer.plane;
  if (layer.channels == 1) {
    loops.blend(image.row(plane, lower), image.row(plane, upper), part,
                layer.width, layer.between);
  } else {
    loops.blend_pairs(image.row(plane, lower), image.row(plane, upper),
                      image.row(plane + 1, lower), image.row(plane + 1, upper),
                      part, layer.width, layer.between);
  }
  loops.across(layer.between, layer.across, layer.channels, made);
}

void repeat_grey(const float* grey, std::int64_t width, int channels,
                 float* out) {
  for (std::int64_t x = 0; x < width; ++x, out += channels) {
    out[0] = out[1] = out[2] = grey[x];
    if (channels == 4) out[3] = 255;
  }
}

}  // namespace

std::int64_t plane_resize_bytes(int widest, const PlaneTarget& target) {
  ScratchPieces pieces(nullptr);
  take_layers(pieces, widest, target);
  return pieces.bytes();
}

Status resize_planes(io::JpegPlanes& image, io::Planes kind,
                     const PlaneTarget& target, std::byte* scratch,
                     float* out) {
  int widest = 0;
  for (int i = 0; i < image.count(); ++i) {
    widest = std::max(widest, image.plane(i).size.width);
  }
  ScratchPieces pieces(scratch);
  Layers both = take_layers(pieces, widest, target);
  const std::span layers(both.data(), image.count() == 1 ? 1 : 2);
  for (Layer& layer : layers) prepare(image, layer);
  const ResizeLoops& loops = resize_loops();
  const auto write =
      kind == io::Planes::ycbcr ? loops.from_ycbcr : loops.interleave;
  const auto [width, height] = target.size;
  const int channels = target.channels;
  for (int y = 0; y < height; ++y, out += std::int64_t{width} * channels) {
    for (const Layer& layer : layers) {
      while (image.rows_read(layer.plane) <= layer.down.upper[y]) {
        PLIMSOLL_RETURN_IF_ERROR(image.read_strip());
      }
    }
    if (channels == 1) {
      make_row(image, loops, both[0], y, out);
      continue;
    }
    for (const Layer& layer : layers) {
      make_row(image, loops, layer, y, layer.made);
    }
    if (layers.size() == 1) {
      repeat_grey(both[0].made, width, channels, out);
    } else {
      write(both[0].made, both[1].made, width, channels, out);
    }
  }
  return {};
}

}  // namespace plimsoll::data
