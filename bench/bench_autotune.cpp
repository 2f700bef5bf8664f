// Autotune against an exhaustive grid of readers, slots and workers, on
// pipelines as unlike as there are. The grid is tried once; its three best and
// what autotune chose then take turns, and the medians are compared.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/units.h"
#include "data/autotune.h"
#include "data/maps/function_map.h"
#include "data/sets/array_set.h"
#include "data/sets/uniform_rows.h"
#include "fed_input.h"

namespace plimsoll::data {
namespace {

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

class Arrays {
 public:
  Arrays(std::int64_t count, const std::vector<std::int64_t>& shape)
      : count_(count), shape_(shape) {
    std::int64_t values = 1;
    for (const std::int64_t size : shape) values *= size;
    features_.resize(static_cast<std::size_t>(count * values));
    labels_.resize(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      fill_uniform(1, static_cast<std::uint64_t>(i), 0, values, DType::f32,
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
    if (grid.empty()) {
      return Error{ErrorCode::does_not_fit,
                   load_.name + ": the share is too small for any choice"};
    }
    std::sort(grid.begin(), grid.end(),
              [](const auto& a, const auto& b) { return a.first > b.first; });
    grid.resize(std::min<std::size_t>(3, grid.size()));
    // Autotune's rates, then those of the best: they take turns.
    std::vector<std::vector<double>> rates(1 + grid.size());
    for (int round = 0; round < settings_.rounds; ++round) {
      for (std::size_t i = 0; i < rates.size(); ++i) {
        PLIMSOLL_ASSIGN(const double rate,
                        rate_of(i == 0 ? tuned : grid[i - 1].second));
        rates[i].push_back(rate);
      }
    }
    for (std::size_t i = 0; i < grid.size(); ++i) {
      grid[i].first = median(rates[i + 1]);
    }
    const auto& best = *std::max_element(
        grid.begin(), grid.end(),
        [](const auto& a, const auto& b) { return a.first < b.first; });
    const double reached = median(rates[0]);
    fmt::print(
        "{}: autotune {:.0f} elements/s ({}), the best of the others {:.0f} "
        "({}): {:.0f} %\n",
        load_.name, reached, describe(tuned), best.first, describe(best.second),
        100 * reached / best.first);
    std::fflush(stdout);
    return {};
  }

 private:
  static double median(std::vector<double> values) {
    const auto middle =
        values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }

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
    PLIMSOLL_ASSIGN(Source source, load_.open());
    PLIMSOLL_ASSIGN(const Input tuned,
                    tune_workers(std::move(source), load_.open, load_.stages,
                                 options, cost, settings_.share_bytes));
    PLIMSOLL_ASSIGN(
        const Division division,
        divide_share(tuned, feeding(load_, {}), cost, cores(),
                     {load_.consumer_seconds, 1}, 1, settings_.share_bytes));
    return Choice{tuned.workers ? tuned.workers->threads() : 0,
                  division.readers, division.slots};
  }

  std::vector<Choice> all_choices() const {
    const auto input = open(load_, 0);
    const bool stream = input && input->stream;
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
    PLIMSOLL_ASSIGN(Input input, open(load_, choice.workers));
    const FeederOptions how = feeding(load_, choice);
    PLIMSOLL_ASSIGN(const FeederLayout layout, feeder_layout(input, how));
    if (layout.total_bytes > settings_.share_bytes) return 0.0;
    PLIMSOLL_ASSIGN(FedInput fed, FedInput::open(std::move(input), how));
    PLIMSOLL_RETURN_IF_ERROR(
        fed.consume(settings_.seconds / 4, load_.consumer_seconds));
    return fed.consume(settings_.seconds, load_.consumer_seconds);
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
