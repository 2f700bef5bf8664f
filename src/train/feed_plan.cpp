#include "train/feed_plan.h"

#include <algorithm>

#include "base/units.h"
#include "data/autotune.h"
#include "data/sets/resident_set.h"

namespace plimsoll::train {
namespace {

// A device's steps can be shorter than one reader takes for a batch. Small
// batches get more readers and slots, unless the job says how many.
void read_further_ahead(const JobSpec& job, const JobInput& input, int threads,
                        data::FeederOptions& options) {
  constexpr std::int64_t kRingBytes = 16 * kMiB;
  constexpr std::int64_t kMostSlots = 8;
  const bool said =
      std::any_of(job.data.pipeline.begin(), job.data.pipeline.end(),
                  [](const data::Recipe& part) {
                    return part.name == "prefetch" && !part.options.empty();
                  });
  if (said || options.readers != 1 || threads < 4) return;
  const std::int64_t bytes =
      options.batch *
      (input.features_field().most_bytes + input.labels_field().most_bytes);
  const std::int64_t slots =
      std::min(kMostSlots, kRingBytes / std::max<std::int64_t>(bytes, 1));
  if (slots <= options.slots) return;
  options.slots = static_cast<int>(slots);
  options.readers = 2;
}

// Readers and slots as the job states them, or as measured times suggest, but
// never more than its share of memory holds.
Status divide_share(const FeedRequest& request, Feed& feed) {
  const auto stage = static_cast<std::size_t>(request.stage);
  const data::Input& input = request.data.input(request.stage).input;
  const std::int64_t share = request.job.data.share_bytes;
  const auto& cost = request.data.costs[stage];
  if (!cost || feed.options.readers == 0) {
    PLIMSOLL_ASSIGN(feed.options, data::fit_share(input, feed.options, share));
    return {};
  }
  const int threads = request.machine.profile().threads;
  const data::Consumer consumer{request.compute_seconds,
                                request.machine.device_profile() ? 1 : threads};
  PLIMSOLL_ASSIGN(
      const data::Division division,
      data::divide_share(input, feed.options, *cost, threads, consumer,
                         feed.options.slots - feed.options.readers, share));
  feed.options.readers = division.readers;
  feed.options.slots = division.slots;
  feed.reason = division.reason;
  return {};
}

}  // namespace

Result<Feed> plan_feed(const FeedRequest& request) {
  const auto& [job, data, machine, stage, graphs, compute_seconds] = request;
  const JobInput& input = data.input(stage);
  const int threads = machine.profile().threads;
  Feed feed;
  feed.options =
      feeder_options(job, input, threads, graphs.features, graphs.labels.dtype);
  if (const DeviceProfile* device = machine.device_profile()) {
    // A device copies from pinned slots alone, each as a whole.
    feed.options.borrow = false;
    feed.options.alignment_bytes = device->alignment_bytes;
    read_further_ahead(job, input, threads, feed.options);
  }
  if (!data.resident) {
    PLIMSOLL_RETURN_IF_ERROR(divide_share(request, feed));
    PLIMSOLL_ASSIGN(feed.layout,
                    data::feeder_layout(input.input, feed.options));
    return feed;
  }
  const auto& source = *data.sources[static_cast<std::size_t>(stage)];
  PLIMSOLL_ASSIGN(auto held, data::resident_stand_in(source));
  PLIMSOLL_ASSIGN(
      const JobInput piped,
      pipe(job, stage, threads, data::source_over(std::move(held))));
  PLIMSOLL_ASSIGN(feed.layout, data::feeder_layout(piped.input, feed.options));
  return feed;
}

}  // namespace plimsoll::train
