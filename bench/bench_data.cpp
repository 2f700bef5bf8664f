// Input pipelines alone: how many elements a second a consumer that does
// nothing gets. bench/peers runs the same cases with other frameworks.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "data/maps/decode.h"
#include "data/maps/resize.h"
#include "data/sets/array_set.h"
#include "data/sets/image_folder.h"
#include "data/sets/npy_set.h"
#include "data/sets/uniform_rows.h"
#include "data/streams/block_shuffle.h"
#include "data/streams/map_stream.h"
#include "data/streams/parse_example.h"
#include "data/streams/tfrecord_stream.h"
#include "data/views/mapped_view.h"
#include "data/views/order_views.h"
#include "device/cpu/process_memory.h"
#include "fed_input.h"

namespace plimsoll::data {
namespace {

constexpr std::int64_t kRowValues = 100;
constexpr std::int64_t kSide = 28;

struct Settings {
  std::string name;    // of the case
  std::string folder;  // where the files are
  std::int64_t batch = 32;
  int readers = -1;  // -1: the case's own
  int slots = 0;     // 0: the case's own
  int workers = 1;   // threads that parse records, or read npy's next window
  std::int64_t rows = 1'000'000;
  std::int64_t images = 60'000;
  std::int64_t block_kib = 256;
  std::int64_t window_kib = 4096;
  bool shrink = false;        // JPEGs decoded no larger than needed
  bool pixels_first = false;  // JPEGs decoded in full, then resized
  bool fast_dct = false;      // of JPEGs
  bool verify = true;         // checksums of records
  double seconds = 3;
  double warm_up_seconds = 1;
  bool json = false;
};

// Arrays that a set borrows.
struct Arrays {
  std::vector<float> features;
  std::vector<std::int32_t> labels;
};

void fill(Arrays& arrays, std::int64_t count, std::int64_t values) {
  arrays.features.resize(static_cast<std::size_t>(count * values));
  arrays.labels.resize(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto example = static_cast<std::uint64_t>(i);
    fill_uniform(1, example, 0, values, DType::f32,
                 arrays.features.data() + i * values);
    arrays.labels[example] = static_cast<std::int32_t>(i % 10);
  }
}

Result<Input> memory_input(const Settings& settings, Arrays& arrays) {
  fill(arrays, settings.rows, kRowValues);
  PLIMSOLL_ASSIGN(
      std::shared_ptr<const Indexed> set,
      ArraySet::create(
          settings.rows,
          {{fixed_field("features", DType::f32, {kRowValues}),
            arrays.features.data()},
           {fixed_field("labels", DType::i32, {}), arrays.labels.data()}}));
  return input_over(std::make_shared<ShuffledView>(std::move(set), 1));
}

Result<Input> npy_input(const Settings& settings, Arrays&) {
  PLIMSOLL_ASSIGN(std::shared_ptr<const Indexed> set,
                  NpySet::open({{"features", settings.folder + "/rows.npy"}},
                               PageCache::keep));
  BlockShuffleOptions how;
  how.block_bytes = settings.block_kib * kKiB;
  how.window_bytes = settings.window_kib * kKiB;
  Input input;
  input.description = set->describe();
  PLIMSOLL_ASSIGN(input.workers, Workers::create(settings.workers));
  how.workers = input.workers.get();
  PLIMSOLL_ASSIGN(input.stream, BlockShuffle::create(std::move(set), how));
  return input;
}

Result<Input> tfrecord_input(const Settings& settings, Arrays&) {
  TfRecordStreamOptions reading;
  reading.files.patterns = {settings.folder + "/rows-*.tfrecord"};
  reading.reading.drop_behind = false;
  reading.reading.verify_data = settings.verify;
  PLIMSOLL_ASSIGN(auto records, tfrecord_stream(reading));
  PLIMSOLL_ASSIGN(
      auto parse,
      parse_example({{"features", io::FeatureKind::floats, {kRowValues}},
                     {"label", io::FeatureKind::int64s, {}}}));
  Input input;
  input.description = "tfrecord";
  PLIMSOLL_ASSIGN(input.workers, Workers::create(settings.workers));
  MapStreamOptions how;
  how.depth = 2 * settings.workers + 2;
  PLIMSOLL_ASSIGN(
      input.stream,
      map_stream(std::move(records), {std::move(parse)}, *input.workers, how));
  return input;
}

Result<Input> resize_input(const Settings& settings, Arrays& arrays) {
  fill(arrays, settings.images, kSide * kSide);
  PLIMSOLL_ASSIGN(
      std::shared_ptr<const Indexed> set,
      ArraySet::create(settings.images,
                       {{fixed_field("features", DType::f32, {kSide, kSide, 1}),
                         arrays.features.data()}}));
  ResizeOptions how;
  how.height = how.width = 64;
  PLIMSOLL_ASSIGN(set, MappedView::create(std::move(set), resize(how), 1));
  return input_over(std::move(set));
}

Result<Input> jpeg_input(const Settings& settings, Arrays&) {
  PLIMSOLL_ASSIGN(std::shared_ptr<const Indexed> set,
                  ImageFolder::open(settings.folder + "/jpeg"));
  DecodeImageOptions decoding;
  decoding.largest = {500, 375};
  if (settings.shrink) decoding.at_least = {224, 224};
  decoding.progressive = false;
  if (settings.fast_dct) decoding.dct = io::Dct::fast;
  if (!settings.pixels_first) {
    decoding.resize_to = {224, 224};
    decoding.whole = false;
    PLIMSOLL_ASSIGN(
        set, MappedView::create(std::move(set), decode_image(decoding), 1));
    return input_over(std::move(set));
  }
  ResizeOptions resizing;
  resizing.height = resizing.width = 224;
  PLIMSOLL_ASSIGN(
      set, MappedView::create(std::move(set), decode_image(decoding), 1));
  PLIMSOLL_ASSIGN(set, MappedView::create(std::move(set), resize(resizing), 1));
  return input_over(std::move(set));
}

struct Case {
  const char* name;
  Result<Input> (*open)(const Settings& settings, Arrays& arrays);
  bool files;
  // What was fastest on two cores.
  int readers;
  int slots;
};

const Case kCases[] = {{"memory", memory_input, false, 1, 16},
                       {"npy", npy_input, true, 0, 2},
                       {"tfrecord", tfrecord_input, true, 0, 8},
                       {"resize", resize_input, false, 1, 8},
                       {"jpeg", jpeg_input, true, 2, 3}};

Status run(const Case& which, const Settings& settings) {
  Arrays arrays;
  PLIMSOLL_ASSIGN(Input input, which.open(settings, arrays));
  FeederOptions how;
  how.batch = settings.batch;
  how.readers = settings.readers < 0 ? which.readers : settings.readers;
  how.slots = settings.slots == 0 ? which.slots : settings.slots;
  PLIMSOLL_ASSIGN(FedInput fed, FedInput::open(std::move(input), how));
  PLIMSOLL_RETURN_IF_ERROR(fed.consume(settings.warm_up_seconds));
  PLIMSOLL_ASSIGN(const double rate, fed.consume(settings.seconds));
  const FeederLayout& layout = fed.layout();
  PLIMSOLL_ASSIGN(const ProcessStatus status, read_process_status(getpid()));
  if (settings.json) {
    fmt::print(
        "{{\"case\": \"{}\", \"elements_per_second\": {:.1f}, "
        "\"peak_rss_bytes\": {}, \"pipeline_bytes\": {}}}\n",
        which.name, rate, status.peak_rss_bytes, layout.total_bytes);
    return {};
  }
  fmt::print(
      "{}: {:.0f} elements/s, {} readers, {} slots; pipeline {:.1f} KiB, peak "
      "{:.1f} MiB\n",
      which.name, rate, how.readers, how.slots,
      static_cast<double>(layout.total_bytes) / kKiB,
      static_cast<double>(status.peak_rss_bytes) / kMiB);
  return {};
}

}  // namespace
}  // namespace plimsoll::data

int main(int argc, char** argv) {
  CLI::App app("Input pipelines without a consumer");
  plimsoll::data::Settings settings;
  app.add_option("--case", settings.name,
                 "memory, npy, tfrecord, resize or jpeg; by default all that "
                 "need no files, with --folder all");
  app.add_option("--folder", settings.folder,
                 "rows.npy, rows-*.tfrecord and jpeg/CLASS/*.jpg");
  app.add_option("--batch", settings.batch);
  app.add_option("--readers", settings.readers);
  app.add_option("--slots", settings.slots);
  app.add_option("--workers", settings.workers,
                 "threads that parse records, or read npy's next window");
  app.add_option("--rows", settings.rows, "of memory");
  app.add_option("--images", settings.images, "of resize");
  app.add_option("--block-kib", settings.block_kib, "of npy's shuffle");
  app.add_option("--window-kib", settings.window_kib, "of npy's shuffle");
  app.add_flag("--shrink", settings.shrink,
               "JPEGs decoded in eighths of their size, at least 224 by 224");
  app.add_flag("--pixels-first", settings.pixels_first,
               "JPEGs decoded to pixels, then resized");
  app.add_flag("--fast-dct", settings.fast_dct, "of JPEGs");
  app.add_flag("--verify,!--no-verify", settings.verify,
               "checksums of records");
  app.add_option("--seconds", settings.seconds);
  app.add_option("--warm-up", settings.warm_up_seconds, "seconds");
  app.add_flag("--json", settings.json);
  CLI11_PARSE(app, argc, argv);
  for (const auto& which : plimsoll::data::kCases) {
    if (settings.name.empty() ? which.files && settings.folder.empty()
                              : settings.name != which.name) {
      continue;
    }
    if (const auto done = plimsoll::data::run(which, settings); !done) {
      fmt::print(stderr, "{}: {}\n", which.name, done.error().message);
      return 1;
    }
  }
  return 0;
}
