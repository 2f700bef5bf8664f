#include "data/pipeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "data/make_map.h"
#include "data/maps/one_field.h"
#include "data/streams/block_shuffle.h"
#include "data/streams/cache_stream.h"
#include "data/streams/error_skipping.h"
#include "data/streams/filter_stream.h"
#include "data/streams/indexed_stream.h"
#include "data/streams/map_stream.h"
#include "data/streams/repeat_stream.h"
#include "data/streams/shard_stream.h"
#include "data/streams/shuffle_window_stream.h"
#include "data/streams/skip_stream.h"
#include "data/streams/take_stream.h"
#include "data/streams/unbatch_stream.h"
#include "data/views/mapped_view.h"
#include "data/views/order_views.h"
#include "io/convert.h"

namespace plimsoll::data {
namespace {

constexpr std::int64_t kDefaultWindowBytes = 4 * kMiB;
constexpr std::int64_t kMostWindowElements = 1'000'000;

std::int64_t element_bytes(const ElementSpec& spec) {
  std::int64_t bytes = 0;
  for (const FieldSpec& field : spec) bytes += field.most_bytes;
  return std::max<std::int64_t>(bytes, 1);
}

// Lets elements through whose field lies within bounds.
Result<Predicate> range_predicate(const Recipe& recipe,
                                  const ElementSpec& spec) {
  PLIMSOLL_ASSIGN(const int field,
                  find_field(spec, {recipe.text("field", "labels"), 0}));
  const auto i = static_cast<std::size_t>(field);
  if (spec[i].shape.rank != 0) {
    return recipe.bad(
        fmt::format("field `{}` has shape {}: a filter compares "
                    "single numbers",
                    spec[i].name, to_string(spec[i].shape)));
  }
  const double infinity = std::numeric_limits<double>::infinity();
  const double least = recipe.number("least", -infinity);
  const double most = recipe.number("most", infinity);
  return Predicate(
      [=, dtype = spec[i].dtype](const Element& element) -> Result<bool> {
        double value = 0;
        io::convert(dtype, element.values[i].data, DType::f64, &value, 1);
        return value >= least && value <= most;
      });
}

class Builder {
 public:
  Builder(Source source, const PipelineOptions& options)
      : options_(options), made_(std::move(source)) {
    if (!made_.policy) made_.policy = std::make_shared<ErrorPolicy>();
  }

  Result<Source> run(std::span<const Recipe> stages) {
    for (const Recipe& stage : stages) {
      // Wherever it stands, it is about the source and every stage.
      made_.policy->skip = made_.policy->skip || stage.name == "skip_errors";
    }
    if (stream_) skip_bad_elements();
    for (const Recipe& stage : stages) {
      ++made_.stages;
      auto added = add(stage);
      if (!added) return with_place(stage, std::move(added).error());
    }
    if (made_.policy->skip) PLIMSOLL_RETURN_IF_ERROR(to_stream());
    PLIMSOLL_RETURN_IF_ERROR(flush_maps());
    return std::move(made_);
  }

 private:
  static Error with_place(const Recipe& stage, Error error) {
    if (!stage.where.empty() &&
        error.message.find(stage.where) == std::string::npos) {
      error.message = fmt::format("{}: {}", stage.where, error.message);
    }
    return error;
  }

  Status add(const Recipe& stage) {
    const std::string& name = stage.name;
    if (name == "batch" || name == "prefetch" || name == "skip_errors") {
      return {};
    }
    const RecipeDef* def = find_stage(name);
    if (def != nullptr && def->chance && !options_.training) return {};
    if (is_map(stage)) {
      PLIMSOLL_ASSIGN(auto map,
                      make_map(stage, options_.training, made_.stages));
      return add_map(std::move(map));
    }
    PLIMSOLL_RETURN_IF_ERROR(flush_maps());
    if (name == "shuffle") return shuffle(stage);
    if (name == "filter") return filter(stage);
    if (name == "cache") return cache(stage);
    if (name == "unbatch") return unbatch();
    return resize_set(stage);
  }

  Status add_map(std::shared_ptr<Map> map) {
    // A view fails as a whole; a stream can leave single elements out.
    if (made_.policy->skip) PLIMSOLL_RETURN_IF_ERROR(to_stream());
    if (stream_) {
      maps_.push_back(std::move(map));
      return {};
    }
    PLIMSOLL_ASSIGN(set_, MappedView::create(std::move(set_), std::move(map),
                                             options_.seed));
    return {};
  }

  Status need_workers() {
    if (made_.workers) return {};
    PLIMSOLL_ASSIGN(made_.workers, Workers::create(options_.workers));
    return {};
  }

  // Maps of a stream that follow one another run as one.
  Status flush_maps() {
    if (maps_.empty()) return {};
    PLIMSOLL_RETURN_IF_ERROR(need_workers());
    MapStreamOptions how;
    how.depth = 2 * options_.workers + 2;
    how.seed = options_.seed;
    how.ordered = options_.ordered;
    how.policy = made_.policy.get();
    PLIMSOLL_ASSIGN(stream_,
                    map_stream(std::move(stream_), std::exchange(maps_, {}),
                               *made_.workers, how));
    return {};
  }

  Status to_stream() {
    if (stream_) return {};
    PLIMSOLL_ASSIGN(stream_, indexed_stream(std::exchange(set_, nullptr)));
    skip_bad_elements();
    return {};
  }

  void skip_bad_elements() {
    if (!made_.policy->skip) return;
    stream_ = skip_errors_stream(std::move(stream_), *made_.policy);
  }

  Status shuffle(const Recipe& stage) {
    std::string mode = stage.text("mode", "auto");
    if (mode == "auto") {
      mode = !set_ ? "window" : set_->prefers_blocks() ? "blocks" : "exact";
    }
    if (mode != "window" && !set_) {
      return stage.bad(fmt::format(
          "mode `{}` needs elements that can be read by number; a stream is "
          "shuffled with mode `window`",
          mode));
    }
    PLIMSOLL_ASSIGN(const std::int64_t window,
                    stage.bytes("window", kDefaultWindowBytes));
    if (mode == "exact") {
      set_ = std::make_shared<ShuffledView>(std::move(set_), options_.seed);
      return {};
    }
    if (mode == "blocks") {
      BlockShuffleOptions how;
      how.seed = options_.seed;
      how.window_bytes = window;
      PLIMSOLL_ASSIGN(how.block_bytes, stage.bytes("block", how.block_bytes));
      // With a thread to spare the next window is read ahead.
      if (options_.workers > 1) {
        PLIMSOLL_RETURN_IF_ERROR(need_workers());
        how.workers = made_.workers.get();
      }
      PLIMSOLL_ASSIGN(stream_,
                      BlockShuffle::create(std::exchange(set_, nullptr), how));
      return {};
    }
    PLIMSOLL_RETURN_IF_ERROR(to_stream());
    ShuffleWindowOptions how;
    how.seed = options_.seed;
    how.elements = stage.integer(
        "elements",
        std::clamp<std::int64_t>(window / element_bytes(stream_->spec()), 1,
                                 kMostWindowElements));
    PLIMSOLL_ASSIGN(stream_, shuffle_window_stream(std::move(stream_), how));
    return {};
  }

  Status filter(const Recipe& stage) {
    PLIMSOLL_RETURN_IF_ERROR(to_stream());
    Predicate predicate = stage.predicate;
    if (!predicate) {
      PLIMSOLL_ASSIGN(predicate, range_predicate(stage, stream_->spec()));
    }
    stream_ = filter_stream(std::move(stream_), std::move(predicate));
    return {};
  }

  Status cache(const Recipe& stage) {
    PLIMSOLL_RETURN_IF_ERROR(to_stream());
    CacheOptions how;
    PLIMSOLL_ASSIGN(how.memory_bytes, stage.bytes("memory", 0));
    how.folder = stage.text("folder", "");
    PLIMSOLL_ASSIGN(stream_, CacheStream::create(std::move(stream_), how));
    return {};
  }

  Status unbatch() {
    PLIMSOLL_RETURN_IF_ERROR(to_stream());
    PLIMSOLL_ASSIGN(stream_, unbatch_stream(std::move(stream_)));
    return {};
  }

  // Stages that leave elements out or give them again.
  Status resize_set(const Recipe& stage) {
    const std::int64_t count = stage.integer("count", 1);
    const std::int64_t index = stage.integer("index", 0);
    if (set_) {
      if (stage.name == "take") {
        PLIMSOLL_ASSIGN(set_, SlicedView::take(std::move(set_), count));
      } else if (stage.name == "skip") {
        PLIMSOLL_ASSIGN(set_, SlicedView::skip(std::move(set_), count));
      } else if (stage.name == "shard") {
        PLIMSOLL_ASSIGN(set_, SlicedView::shard(std::move(set_), index, count));
      } else if (stage.name == "repeat") {
        PLIMSOLL_ASSIGN(set_, RepeatedView::create(std::move(set_), count));
      } else {
        return stage.bad(fmt::format("there is no stage `{}`", stage.name));
      }
      return {};
    }
    if (stage.name == "take") {
      PLIMSOLL_ASSIGN(stream_, take_stream(std::move(stream_), count));
    } else if (stage.name == "skip") {
      PLIMSOLL_ASSIGN(stream_, skip_stream(std::move(stream_), count));
    } else if (stage.name == "shard") {
      PLIMSOLL_ASSIGN(stream_, shard_stream(std::move(stream_), index, count));
    } else if (stage.name == "repeat") {
      PLIMSOLL_ASSIGN(stream_, repeat_stream(std::move(stream_), count));
    } else {
      return stage.bad(fmt::format("there is no stage `{}`", stage.name));
    }
    return {};
  }

  const PipelineOptions& options_;
  Source made_;
  // Shorter names for what changes all the time.
  std::shared_ptr<const Indexed>& set_ = made_.set;
  std::unique_ptr<Stream>& stream_ = made_.stream;
  std::vector<std::shared_ptr<Map>>& maps_ = made_.maps;
};

}  // namespace

Result<Source> add_stages(Source source, std::span<const Recipe> stages,
                          const PipelineOptions& options) {
  return Builder(std::move(source), options).run(stages);
}

Result<Input> build_pipeline(Source source, std::span<const Recipe> stages,
                             const PipelineOptions& options) {
  PLIMSOLL_ASSIGN(Source made, add_stages(std::move(source), stages, options));
  Input input;
  input.workers = std::move(made.workers);
  input.policy = std::move(made.policy);
  input.set = std::move(made.set);
  input.stream = std::move(made.stream);
  input.description = std::move(made.description);
  return input;
}

}  // namespace plimsoll::data
