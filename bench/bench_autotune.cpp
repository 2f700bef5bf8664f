// Autotune against an exhaustive grid of readers, slots and workers, on
// pipelines as unlike as there are. The grid is tried once; its three best and
// what autotune chose then take turns, and the medians are compared.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/units.h"
#include "data/explain.h"
#include "data/maps/function_map.h"
#include "data/sets/array_set.h"
#include "data/sets/uniform_rows.h"

namespace plimsoll::data {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  std::string name;  // of the workload; empty: all
  double seconds = 0.2;
  int rounds = 7;
  std::int64_t share_bytes = 64 * kMiB;
};

struct Workload {
  std::string name;
  SourceOpener open;
  std::vector<Recipe> stages;
  std::int64_t batch = 32;
  double consumer_seconds = 0;  // at work on each batch
};

struct Choice {
  int workers = 0;
  int readers = 0;
  int slots = 1;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Arrays {
 public:
  Arrays(std::int64_t count, const std::vector<std::int64_t>& shape)
      : count_(count), shape_(shape) {
    std::int64_t values = 1;
    for (const std::int64_t size : shape) values *= size;
    features_.resize(static_cast<std::size_t>(count * values));
    labels_.resize(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      fill_uniform(1, static_cast<std::uint64_t>(i), 0, values,
                   features_.data() + i * values);
    }
  }

  SourceOpener opener() const {
    return [this]() -> Result<Source> {
      Extents extents;
      extents.rank = static_cast<int>(shape_.size());
      std::copy(shape_.begin(), shape_.end(), extents.sizes.begin());
      PLIMSOLL_ASSIGN(
          std::shared_ptr<const Indexed> set,
          ArraySet::create(
              count_,
              {{{"features", DType::f32, extents, extents.elements() * 4},
                features_.data()},
               {fixed_field("labels", DType::i32, {}), labels_.data()}}));
      return source_over(std::move(set));
    };
  }

 private:
  std::int64_t count_;
  std::vector<std::int64_t> shape_;
  std::vector<float> features_;
  std::vector<std::int32_t> labels_;
};

Recipe stage(const std::string& name) {
  Recipe made;
  made.name = name;
  return made;
}

Recipe resize_to(std::int64_t side) {
  Recipe made = stage("resize");
  made.options["height"] = made.options["width"] = side;
  return made;
}

// As if each element came over a network.
Recipe waiting(std::int64_t values, std::chrono::microseconds time) {
  Recipe made = stage("map");
  made.map = [values, time]() -> Result<std::shared_ptr<Map>> {
    return function_map({values}, [values, time](const float* in, float* out) {
      std::this_thread::sleep_for(time);
      std::copy_n(in, values, out);
    });
  };
  return made;
}

SourceOpener csv(const std::string& path) {
  Recipe recipe = stage("csv");
  recipe.options["files"] = std::vector<std::string>{path};
  recipe.options["label"] = std::string("c0");
  return [recipe] { return open_source(recipe, {}); };
}

void write_csv(const std::string& path, int rows, int columns) {
  std::ofstream file(path);
  for (int c = 0; c < columns; ++c) file << (c ? "," : "") << "c" << c;
  for (int r = 0; r < rows; ++r) {
    file << "\n" << r % 10;
    for (int c = 1; c < columns; ++c) {
      file << "," << (r * 31 + c * 7) % 1000 << ".25";
    }
  }
  file << "\n";
}

Result<Input> open(const Workload& load, int workers) {
  PipelineOptions options;
  options.workers = workers;
  PLIMSOLL_ASSIGN(Source source, load.open());
  return build_pipeline(std::move(source), load.stages, options);
}

FeederOptions feeding(const Workload& load, const Choice& choice) {
  FeederOptions options;
  options.batch = load.batch;
  options.readers = choice.readers;
  options.slots = choice.slots;
  return options;
}

class Bench {
 public:
  Bench(const Workload& load, const Settings& settings)
      : load_(load), settings_(settings) {}

  Status run() {
    PLIMSOLL_ASSIGN(const Choice tuned, tune());
    std::vector<std::pair<double, Choice>> grid;
    for (const Choice& choice : all_choices()) {
      PLIMSOLL_ASSIGN(const double rate, rate_of(choice));
      if (rate > 0) grid.emplace_back(rate, choice);
    }
    std::sort(grid.begin(), grid.end(),
              [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Choice> finalists{tuned};
    for (std::size_t i = 0; i < std::min<std::size_t>(3, grid.size()); ++i) {
      finalists.push_back(grid[i].second);
    }
    std::vector<std::vector<double>> rates(finalists.size());
    for (int round = 0; round < settings_.rounds; ++round) {
      for (std::size_t i = 0; i < finalists.size(); ++i) {
        PLIMSOLL_ASSIGN(const double rate, rate_of(finalists[i]));
        rates[i].push_back(rate);
      }
    }
    std::size_t best = 1;
    std::vector<double> medians;
    for (auto& of : rates) {
      std::nth_element(of.begin(), of.begin() + settings_.rounds / 2, of.end());
      medians.push_back(of[static_cast<std::size_t>(settings_.rounds) / 2]);
      if (medians.back() > medians[std::min(best, medians.size() - 1)]) {
        best = medians.size() - 1;
      }
    }
    fmt::print(
        "{}: autotune {:.0f} elements/s ({}), the best of {} others {:.0f} "
        "({}): {:.0f} %\n",
        load_.name, medians[0], describe(tuned), grid.size(), medians[best],
        describe(finalists[best]), 100 * medians[0] / medians[best]);
    std::fflush(stdout);
    return {};
  }

 private:
  static int cores() {
    return static_cast<int>(std::thread::hardware_concurrency());
  }

  static std::string describe(const Choice& choice) {
    return fmt::format("{} readers, {} slots, {} workers", choice.readers,
                       choice.slots, choice.workers);
  }

  Result<Choice> tune() const {
    PipelineOptions options;
    PLIMSOLL_ASSIGN(const PipelineCost cost,
                    measure_pipeline(load_.open, load_.stages, options));
    options.workers = cores();
    PLIMSOLL_ASSIGN(const TunedInput tuned,
                    tune_workers(load_.open, load_.stages, options, cost,
                                 settings_.share_bytes));
    PLIMSOLL_ASSIGN(
        const Division division,
        divide_share(tuned.input, feeding(load_, {}), cost, cores(),
                     {load_.consumer_seconds, 1}, 1, settings_.share_bytes));
    return Choice{tuned.workers, division.readers, division.slots};
  }

  std::vector<Choice> all_choices() const {
    const auto source = load_.open();
    const auto input = open(load_, 0);
    const bool stream = source && input && input->stream;
    std::vector<Choice> choices;
    for (const int threads : {0, 1, 2, 3, 4, 8, 16, 32}) {
      for (const int ahead : {1, 2, 4, 8, 16, 32}) {
        if (!stream) {
          choices.push_back({0, threads, threads + ahead});
          continue;
        }
        for (const int readers : {0, 1}) {
          choices.push_back({threads, readers, readers + ahead});
        }
      }
    }
    return choices;
  }

  // Elements a second; 0 where the share is too small for it.
  Result<double> rate_of(const Choice& choice) const {
    PLIMSOLL_ASSIGN(const Input input, open(load_, choice.workers));
    const FeederOptions how = feeding(load_, choice);
    PLIMSOLL_ASSIGN(const FeederLayout layout, feeder_layout(input, how));
    if (layout.total_bytes > settings_.share_bytes) return 0.0;
    const auto bytes =
        static_cast<std::size_t>(round_up(layout.total_bytes, 64));
    const std::unique_ptr<std::byte, void (*)(void*)> memory(
        static_cast<std::byte*>(std::aligned_alloc(64, bytes)), std::free);
    if (!memory) return Error{ErrorCode::internal, "no memory"};
    PLIMSOLL_ASSIGN(auto feeder, BatchFeeder::create(input, how, layout,
                                                     {memory.get(), bytes}));
    PLIMSOLL_RETURN_IF_ERROR(feeder->start({}));
    PLIMSOLL_RETURN_IF_ERROR(consume(*feeder, settings_.seconds / 4));
    return consume(*feeder, settings_.seconds);
  }

  Result<double> consume(BatchFeeder& feeder, double seconds) const {
    std::int64_t elements = 0;
    const auto start = Clock::now();
    double spent = 0;
    while (spent < seconds) {
      PLIMSOLL_ASSIGN(const Batch batch, feeder.next());
      if (batch.examples == 0) {
        const std::int64_t epoch = feeder.position().epoch + 1;
        PLIMSOLL_RETURN_IF_ERROR(feeder.start({epoch, 0, {}}));
        continue;
      }
      elements += batch.examples;
      const auto taken = Clock::now();
      while (seconds_since(taken) < load_.consumer_seconds) {
      }
      feeder.release(batch.slot);
      spent = seconds_since(start);
    }
    return static_cast<double>(elements) / spent;
  }

  const Workload& load_;
  const Settings& settings_;
};

Status run_all(const Settings& settings) {
  const Arrays rows(1'000'000, {100});
  const Arrays images(20'000, {28, 28, 1});
  const Arrays few(100'000, {16});
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() /
      fmt::format("plimsoll-bench-autotune-{}.csv", getpid());
  write_csv(file, 100'000, 20);

  using std::chrono::microseconds;
  const std::vector<Workload> loads = {
      {"rows", rows.opener(), {stage("shuffle")}, 32, 0},
      {"images", images.opener(), {resize_to(64)}, 32, 100e-6},
      {"text", csv(file), {}, 32, 20e-6},
      {"remote set", few.opener(), {waiting(16, microseconds(300))}, 8, 0},
      {"remote stream", csv(file), {waiting(19, microseconds(300))}, 8, 200e-6},
  };
  Status status;
  for (const Workload& load : loads) {
    if (!settings.name.empty() && settings.name != load.name) continue;
    status = Bench(load, settings).run();
    if (!status) break;
  }
  std::filesystem::remove(file);
  return status;
}

}  // namespace
}  // namespace plimsoll::data

int main(int argc, char** argv) {
  CLI::App app("What autotune chooses beside everything else there is");
  plimsoll::data::Settings settings;
  app.add_option("--workload", settings.name,
                 "rows, images, text, remote set or remote stream");
  app.add_option("--seconds", settings.seconds, "for each choice");
  app.add_option("--rounds", settings.rounds, "of the best ones");
  app.add_option("--share", settings.share_bytes, "bytes");
  CLI11_PARSE(app, argc, argv);
  if (const auto done = plimsoll::data::run_all(settings); !done) {
    fmt::print(stderr, "{}\n", done.error().message);
    return 1;
  }
  return 0;
}
