#include "data/join_sources.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "data/streams/concatenate_stream.h"
#include "data/streams/indexed_stream.h"
#include "data/streams/interleave_stream.h"
#include "data/streams/zip_stream.h"
#include "data/views/joined_views.h"

namespace plimsoll::data {
namespace {

using SharedSet = std::shared_ptr<const Indexed>;

Result<SharedSet> join_sets(const Recipe& recipe, std::vector<SharedSet> sets) {
  SharedSet joined = std::move(sets[0]);
  for (std::size_t i = 1; i < sets.size(); ++i) {
    if (recipe.name == "zip") {
      PLIMSOLL_ASSIGN(
          joined, ZippedView::create(std::move(joined), std::move(sets[i])));
    } else {
      PLIMSOLL_ASSIGN(joined, ConcatenatedView::create(std::move(joined),
                                                       std::move(sets[i])));
    }
  }
  return joined;
}

Result<std::unique_ptr<Stream>> join_streams(
    const Recipe& recipe, std::vector<std::unique_ptr<Stream>> streams,
    std::uint64_t seed) {
  if (recipe.name == "zip") return zip_stream(std::move(streams));
  if (recipe.name == "concatenate") {
    return concatenate_stream(std::move(streams));
  }
  InterleaveOptions how;
  how.cycle = static_cast<int>(
      std::min<std::int64_t>(recipe.integer("cycle", how.cycle),
                             static_cast<std::int64_t>(streams.size())));
  how.block = recipe.integer("block", how.block);
  how.shuffle = recipe.flag("shuffle", how.shuffle);
  how.seed = seed;
  return interleave_stream(std::move(streams), how);
}

}  // namespace

Result<Source> join_sources(const Recipe& recipe,
                            const PipelineOptions& options) {
  Source joined;
  std::vector<Source> inputs;
  bool all_sets = recipe.name != "interleave";
  for (const Recipe& input : recipe.inputs) {
    PipelineOptions how = options;
    // Random sources must not repeat one another.
    how.seed += inputs.size();
    PLIMSOLL_ASSIGN(Source source, open_source(input, how));
    joined.description += (inputs.empty() ? "" : ", ") + source.description;
    if (!source.policy) source.policy = joined.policy;
    if (!source.workers) source.workers = joined.workers;
    source.stages += joined.stages;
    PLIMSOLL_ASSIGN(auto made,
                    add_stages(std::move(source), input.stages, how));
    joined.policy = made.policy;
    joined.workers = made.workers;
    joined.stages = made.stages;
    all_sets = all_sets && made.set != nullptr;
    inputs.push_back(std::move(made));
  }
  joined.description = fmt::format("{}: {}", recipe.name, joined.description);
  if (all_sets) {
    std::vector<SharedSet> sets;
    for (Source& input : inputs) sets.push_back(std::move(input.set));
    PLIMSOLL_ASSIGN(joined.set, join_sets(recipe, std::move(sets)));
    return joined;
  }
  std::vector<std::unique_ptr<Stream>> streams;
  for (Source& input : inputs) {
    if (input.set) {
      PLIMSOLL_ASSIGN(input.stream, indexed_stream(std::move(input.set)));
    }
    streams.push_back(std::move(input.stream));
  }
  PLIMSOLL_ASSIGN(joined.stream,
                  join_streams(recipe, std::move(streams), options.seed));
  return joined;
}

}  // namespace plimsoll::data
