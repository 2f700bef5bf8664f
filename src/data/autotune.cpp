#include "data/autotune.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/units.h"

namespace plimsoll::data {
namespace {

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
int slots_against_jitter(std::int64_t slot_bytes,
                         double seconds_between_batches) {
  constexpr double kJitterSeconds = 1e-3;
  constexpr std::int64_t kCacheBytes = 640 * kKiB;
  constexpr double kMostSlots = 48;
  const double made =
      std::ceil(kJitterSeconds / std::max(seconds_between_batches, 1e-9));
  const auto room = static_cast<double>(kCacheBytes / slot_bytes);
  return static_cast<int>(std::min({made, room, kMostSlots}));
}

// Readers, the consumer and the cores each have a rate that they cannot pass.
int fewest_readers(const PipelineCost& cost, double batch_seconds, int cores,
                   const Consumer& consumer) {
  constexpr double kNear = 0.92;
  if (batch_seconds <= 0) return 1;
  const int useful = cost.useful_threads(cores);
  const double core_seconds =
      batch_seconds * cost.busy() + consumer.seconds * consumer.threads;
  double most = useful / batch_seconds;
  if (!cost.mostly_waits()) most = std::min(most, cores / core_seconds);
  if (consumer.seconds > 0) most = std::min(most, 1 / consumer.seconds);
  const auto readers =
      static_cast<int>(std::ceil(kNear * most * batch_seconds));
  return std::clamp(readers, 1, useful);
}

// A consumer with nothing else to do is a reader, too, given some slots more;
// not where they are large.
bool consumer_reads(const Input& input, const FeederOptions& options,
                    const PipelineCost& cost, const Consumer& consumer) {
  constexpr std::int64_t kMostBytes = 2 * kMiB;
  return input.set && consumer.seconds <= 0 && !cost.mostly_waits() &&
         batch_bytes(input, options) <= kMostBytes;
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

Result<Input> tune_workers(Source source, const SourceOpener& open,
                           std::span<const Recipe> stages,
                           PipelineOptions options, const PipelineCost& cost,
                           std::int64_t share_bytes) {
  options.workers = cost.useful_threads(options.workers);
  for (;;) {
    PLIMSOLL_ASSIGN(Input input,
                    build_pipeline(std::move(source), stages, options));
    Placer buffers;
    if (input.stream) input.stream->place(buffers);
    if (share_bytes <= 0 || buffers.bytes() <= share_bytes / 2 ||
        options.workers <= 1) {
      return input;
    }
    options.workers /= 2;
    PLIMSOLL_ASSIGN(source, open());
  }
}

Result<FeederOptions> fit_share(const Input& input, FeederOptions options,
                                std::int64_t share_bytes) {
  if (share_bytes <= 0) return options;
  for (;;) {
    PLIMSOLL_ASSIGN(const FeederLayout layout, feeder_layout(input, options));
    if (layout.total_bytes <= share_bytes) return options;
    if (options.slots > options.readers + 1) {
      --options.slots;
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
  const bool reads = consumer_reads(input, options, cost, consumer);
  // A stream is pulled by one reader; its maps have threads of their own.
  const int workers =
      input.stream && input.workers ? input.workers->threads() : 0;
  options.readers = 1;
  if (input.set) {
    options.readers = fewest_readers(cost, batch_seconds, cores, consumer);
    if (reads) options.readers = std::max(options.readers - 1, 1);
  }
  // One more than asked for: the consumer keeps one, and the readers go on.
  options.slots = options.readers + std::max(ready, 1) + 1;
  if (reads) options.slots += kSlotsToHelp;
  options.slots = std::max(
      options.slots,
      slots_against_jitter(batch_bytes(input, options),
                           batch_seconds / std::max(options.readers, workers)));
  PLIMSOLL_ASSIGN(const FeederOptions fitting,
                  fit_share(input, options, share_bytes));
  Division division{fitting.readers, fitting.slots, ""};
  division.reason = fmt::format(
      "a batch takes one thread {:.3g} ms{}", 1e3 * batch_seconds,
      consumer.seconds > 0
          ? fmt::format(" and training {:.3g} ms", 1e3 * consumer.seconds)
          : std::string());
  const int useful = cost.useful_threads(cores);
  if (useful > cores) {
    division.reason += fmt::format(
        "; most of it is waiting, so that {} threads on {} cores are of use",
        useful, cores);
  }
  if (workers > 0) {
    division.reason += fmt::format("; its maps run on {} threads", workers);
  }
  if (fitting.readers < options.readers) {
    division.reason += fmt::format(
        "; the share of {} has room for {} of {} readers",
        format_bytes(share_bytes), fitting.readers, options.readers);
  }
  return division;
}

}  // namespace plimsoll::data
