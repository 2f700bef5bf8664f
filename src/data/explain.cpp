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
constexpr std::int64_t kMostMeasured = 100'000;  // elements
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
  const double spare = mostly_waits() ? 1.5 : 1;
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

}  // namespace plimsoll::data
