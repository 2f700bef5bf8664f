#include "data/explain.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/units.h"

namespace plimsoll::data {
namespace {

// More threads than this wait for the disk or the network, not for each other.
constexpr int kMostReaders = 32;
constexpr double kMostlyWaiting = 0.5;               // share of a core at work
constexpr std::int64_t kMostBytesToHelp = 2 * kMiB;  // of a batch
constexpr std::int64_t kMostMeasured = 100'000;      // elements
constexpr std::int64_t kClockStep = 16;

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

double thread_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

double wall_seconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Run {
  std::int64_t bytes = 0;
  std::int64_t elements = 0;
  double wall = 0;  // for one element
  double cpu = 0;
};

class Timer {
 public:
  explicit Timer(double seconds) : limit_(seconds) {}

  void start() {
    waits_ = waits();
    start_ = wall_seconds();
    cpu_start_ = thread_cpu_seconds();
  }
  bool over() const { return wall_seconds() - start_ >= limit_; }
  void stop(Run& run) const {
    const auto count =
        static_cast<double>(std::max<std::int64_t>(run.elements, 1));
    run.wall = (wall_seconds() - start_) / count;
    run.cpu = (thread_cpu_seconds() - cpu_start_) / count;
    // It never gave its core away: what is missing went to other programs.
    if (waits() == waits_) run.wall = run.cpu;
  }

 private:
  static long waits() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
  }

  double limit_;
  double start_ = 0;
  double cpu_start_ = 0;
  long waits_ = 0;
};

using Memory = std::unique_ptr<void, FreeMemory>;

Result<Memory> take_memory(std::int64_t bytes) {
  Memory memory(std::aligned_alloc(
      64, static_cast<std::size_t>(round_up(bytes + 64, 64))));
  if (memory) {
    // Or the first elements would pay for its pages. Of a large cache nothing
    // is touched that they do not use.
    constexpr std::int64_t kMostTouched = 4 * kMiB;
    std::memset(memory.get(), 0,
                static_cast<std::size_t>(std::min(bytes, kMostTouched)));
    return memory;
  }
  return Error{
      ErrorCode::over_budget,
      fmt::format("no {} to measure the pipeline with", format_bytes(bytes))};
}

// Gathers more and more elements at a time, as far as cheap ones allow.
Result<Run> run_set(const Indexed& set, double seconds) {
  constexpr std::int64_t kMostAtOnce = 256;
  constexpr std::int64_t kMostRowBytes = kMiB;
  std::int64_t element_bytes = 1;
  bool fixed = true;
  for (const FieldSpec& field : set.spec()) {
    element_bytes += round_up(field.most_bytes, 64);
    fixed = fixed && field.shape.is_fixed();
  }
  const std::int64_t most =
      fixed ? std::clamp<std::int64_t>(kMostRowBytes / element_bytes, 1,
                                       std::min(kMostAtOnce, set.size()))
            : 1;
  Placer counted;
  const auto place = [&](Placer& placer,
                         std::array<std::byte*, kMostFields>& rows) {
    for (std::size_t i = 0; i < set.spec().size(); ++i) {
      rows[i] = placer.take("", "", most * set.spec()[i].most_bytes);
    }
    return placer.take("", "", set.scratch_bytes());
  };
  std::array<std::byte*, kMostFields> rows{};
  place(counted, rows);
  PLIMSOLL_ASSIGN(const Memory memory, take_memory(counted.bytes()));
  Placer placer(static_cast<std::byte*>(memory.get()));
  const ReadContext how{
      {place(placer, rows), static_cast<std::size_t>(set.scratch_bytes())}, 0};
  std::array<std::int64_t, kMostAtOnce> numbers;
  Run run;
  run.bytes = set.scratch_bytes();
  Timer timer(seconds);
  std::int64_t at = 0;
  const auto read = [&](std::int64_t count) -> Status {
    for (std::int64_t i = 0; i < count; ++i) {
      numbers[static_cast<std::size_t>(i)] = at++ % set.size();
    }
    if (fixed) {
      return set.gather({numbers.data(), static_cast<std::size_t>(count)}, rows,
                        how);
    }
    Element element;
    return set.read(numbers[0], element, rows, how);
  };
  PLIMSOLL_RETURN_IF_ERROR(read(1));
  timer.start();
  for (std::int64_t count = 1; run.elements < kMostMeasured && !timer.over();
       count = std::min(2 * count, most)) {
    PLIMSOLL_RETURN_IF_ERROR(read(count));
    run.elements += count;
  }
  timer.stop(run);
  return run;
}

Result<Run> run_stream(Stream& stream, double seconds) {
  Run run;
  Placer counted;
  stream.place(counted);
  run.bytes = counted.bytes();
  PLIMSOLL_ASSIGN(const Memory memory, take_memory(counted.bytes()));
  Placer placer(static_cast<std::byte*>(memory.get()));
  stream.place(placer);
  PLIMSOLL_RETURN_IF_ERROR(stream.start(0));
  Element element;
  // The first one pays for what is opened and filled once.
  PLIMSOLL_ASSIGN(bool more, stream.next(element));
  Timer timer(seconds);
  timer.start();
  while (more && run.elements < kMostMeasured && !timer.over()) {
    // Looking at the clock must not cost more than a cheap element.
    for (std::int64_t i = 0; more && i <= std::min(run.elements, kClockStep);
         ++i) {
      PLIMSOLL_ASSIGN(more, stream.next(element));
      run.elements += more;
    }
  }
  timer.stop(run);
  return run;
}

// Everything in this thread: an element's cost is what it takes one core.
Result<Run> run_prefix(const SourceOpener& open, std::span<const Recipe> stages,
                       PipelineOptions options, double seconds) {
  options.workers = 0;
  PLIMSOLL_ASSIGN(Source source, open());
  PLIMSOLL_ASSIGN(const Input input,
                  build_pipeline(std::move(source), stages, options));
  return input.set ? run_set(*input.set, seconds)
                   : run_stream(*input.stream, seconds);
}

std::int64_t batch_bytes(const Input& input, const FeederOptions& options) {
  std::int64_t bytes = 1;
  for (const FieldSpec& field : input.spec()) {
    bytes += options.batch * field.most_bytes;
  }
  return bytes;
}

// A thread that sleeps, or waits for a core, takes up to a millisecond to come
// back: as many batches lie ready as are made in that time, and as stay in the
// second-level cache.
int slots_against_jitter(const Input& input, const FeederOptions& options,
                         double seconds_between_batches) {
  constexpr double kJitterSeconds = 1e-3;
  constexpr std::int64_t kCacheBytes = 640 * kKiB;
  constexpr double kMostSlots = 48;
  const double made =
      std::ceil(kJitterSeconds / std::max(seconds_between_batches, 1e-9));
  const auto room =
      static_cast<double>(kCacheBytes / batch_bytes(input, options));
  return std::max(
      0, static_cast<int>(std::min({made, room, kMostSlots})) - options.slots);
}

// Readers, the consumer and the cores each have a rate that they cannot pass.
int fewest_readers(double batch_seconds, double busy, int useful, int cores,
                   const Consumer& consumer) {
  constexpr double kNear = 0.92;
  if (batch_seconds <= 0) return 1;
  const double core_seconds =
      batch_seconds * busy + consumer.seconds * consumer.threads;
  double most = useful / batch_seconds;
  if (busy >= kMostlyWaiting) most = std::min(most, cores / core_seconds);
  if (consumer.seconds > 0) most = std::min(most, 1 / consumer.seconds);
  const auto readers =
      static_cast<int>(std::ceil(kNear * most * batch_seconds));
  return std::clamp(readers, 1, useful);
}

Error too_small(const Input& input, std::int64_t least_bytes,
                std::int64_t share_bytes) {
  std::int64_t element = 0;
  for (const FieldSpec& field : input.spec()) element += field.most_bytes;
  return {
      ErrorCode::does_not_fit,
      fmt::format("{}: the pipeline's share of {} is too small: an element "
                  "takes up to {}, and the least share that works is {}: set "
                  "data.share",
                  input.description, format_bytes(share_bytes),
                  format_bytes(element), format_exact_bytes(least_bytes))};
}

}  // namespace

double PipelineCost::seconds() const {
  double sum = 0;
  for (const StageCost& stage : stages) sum += stage.seconds;
  return sum;
}

std::size_t PipelineCost::slowest() const {
  std::size_t slowest = 0;
  for (std::size_t i = 1; i < stages.size(); ++i) {
    if (stages[i].seconds > stages[slowest].seconds) slowest = i;
  }
  return slowest;
}

double PipelineCost::busy() const {
  double busy = 0;
  for (const StageCost& stage : stages) busy += stage.seconds * stage.busy;
  const double all = seconds();
  return all > 0 ? std::min(busy / all, 1.0) : 1.0;
}

int PipelineCost::useful_threads(int cores) const {
  // Threads that wait cost little, and too few cost the most: half as many
  // again where most of the time is waiting.
  const double spare = busy() < kMostlyWaiting ? 1.5 : 1;
  const double waiting = spare / std::max(busy(), 1.0 / kMostReaders);
  return std::clamp(static_cast<int>(std::ceil(cores * waiting)), cores,
                    std::max(cores, kMostReaders));
}

Result<PipelineCost> measure_pipeline(const SourceOpener& open,
                                      std::span<const Recipe> stages,
                                      const PipelineOptions& options,
                                      double seconds_each) {
  PipelineCost cost;
  Run before;
  for (std::size_t count = 0; count <= stages.size(); ++count) {
    if (count > 0 && (stages[count - 1].name == "batch" ||
                      stages[count - 1].name == "prefetch")) {
      break;
    }
    PLIMSOLL_ASSIGN(const Run run, run_prefix(open, stages.first(count),
                                              options, seconds_each));
    StageCost stage;
    stage.name = count == 0 ? "source" : stages[count - 1].name;
    stage.bytes = std::max<std::int64_t>(run.bytes - before.bytes, 0);
    stage.seconds = std::max(run.wall - before.wall, 0.0);
    const double cpu = std::max(run.cpu - before.cpu, 0.0);
    stage.busy = stage.seconds > 0 ? std::min(cpu / stage.seconds, 1.0) : 1.0;
    cost.elements = std::max(cost.elements, run.elements);
    cost.stages.push_back(std::move(stage));
    before = run;
  }
  return cost;
}

Result<TunedInput> tune_workers(const SourceOpener& open,
                                std::span<const Recipe> stages,
                                PipelineOptions options,
                                const PipelineCost& cost,
                                std::int64_t share_bytes) {
  options.workers = cost.useful_threads(options.workers);
  for (;;) {
    PLIMSOLL_ASSIGN(Source source, open());
    PLIMSOLL_ASSIGN(Input input,
                    build_pipeline(std::move(source), stages, options));
    Placer buffers;
    if (input.stream) input.stream->place(buffers);
    if (share_bytes <= 0 || buffers.bytes() <= share_bytes / 2 ||
        options.workers <= 1) {
      return TunedInput{std::move(input), options.workers};
    }
    options.workers /= 2;
  }
}

Result<FeederOptions> fit_share(const Input& input, FeederOptions options,
                                std::int64_t share_bytes) {
  if (share_bytes <= 0) return options;
  for (;;) {
    PLIMSOLL_ASSIGN(const FeederLayout layout, feeder_layout(input, options));
    if (layout.total_bytes <= share_bytes) return options;
    if (options.slots > options.readers + 1) {
      options.slots = options.readers + 1;
    } else if (options.readers > 1) {
      --options.readers;
      options.slots = options.readers + 1;
    } else if (options.slots > 1) {
      options.slots = 1;
      options.readers = 0;
    } else {
      return too_small(input, layout.total_bytes, share_bytes);
    }
  }
}

Result<Division> divide_share(const Input& input, FeederOptions options,
                              const PipelineCost& cost, int cores,
                              const Consumer& consumer, int ready,
                              std::int64_t share_bytes) {
  const double batch_seconds =
      cost.seconds() * static_cast<double>(options.batch);
  const int useful = cost.useful_threads(cores);
  // A stream is pulled by one reader; its maps have threads of their own.
  options.readers = input.stream ? 1
                                 : fewest_readers(batch_seconds, cost.busy(),
                                                  useful, cores, consumer);
  // A consumer with nothing else to do is a reader, too, given some slots more;
  // not where they are large.
  const bool reads = input.set && consumer.seconds <= 0 &&
                     cost.busy() >= kMostlyWaiting &&
                     batch_bytes(input, options) <= kMostBytesToHelp;
  if (reads) options.readers = std::max(options.readers - 1, 1);
  const int threads = input.workers && input.stream
                          ? std::max(input.workers->threads(), 1)
                          : options.readers;
  // One more than asked for: the consumer keeps one, and the readers go on.
  options.slots = options.readers + std::max(ready, 1) + 1;
  if (reads) options.slots += kSlotsToHelp;
  options.slots +=
      slots_against_jitter(input, options, batch_seconds / threads);
  PLIMSOLL_ASSIGN(const FeederOptions fitting,
                  fit_share(input, options, share_bytes));
  Division division{fitting.readers, fitting.slots, ""};
  division.reason = fmt::format(
      "a batch takes one reader {:.3g} ms{}", 1e3 * batch_seconds,
      consumer.seconds > 0
          ? fmt::format(" and training {:.3g} ms", 1e3 * consumer.seconds)
          : std::string());
  if (useful > cores) {
    division.reason += fmt::format(
        "; most of it is waiting, so that {} readers on {} cores are of use",
        useful, cores);
  }
  if (fitting.readers < options.readers) {
    division.reason += fmt::format(
        "; the share of {} has room for {} of {} readers",
        format_bytes(share_bytes), fitting.readers, options.readers);
  }
  return division;
}

}  // namespace plimsoll::data
