// Random chains of stages, each with a plain model of what it does.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <random>

#include "base/philox.h"
#include "data/maps/pad.h"
#include "data/streams/cache_stream.h"
#include "data/streams/concatenate_stream.h"
#include "data/streams/filter_stream.h"
#include "data/streams/interleave_stream.h"
#include "data/streams/map_stream.h"
#include "data/streams/repeat_stream.h"
#include "data/streams/shard_stream.h"
#include "data/streams/shuffle_window_stream.h"
#include "data/streams/skip_stream.h"
#include "data/streams/stream_fixture.h"
#include "data/streams/take_stream.h"
#include "data/streams/unbatch_stream.h"
#include "data/streams/zip_stream.h"

namespace plimsoll::data {

using Rows = std::vector<Row>;
using Model = std::function<Rows(std::int64_t epoch)>;

struct Chain {
  std::unique_ptr<Stream> stream;
  Model model;
  std::string text;  // "numbered(7) | take(3)"
};

// Makes the same chain again from the same seed.
class ChainBuilder {
 public:
  ChainBuilder(std::uint32_t seed, Workers& workers)
      : random_(seed), workers_(workers) {}

  Chain build() {
    Chain chain = source();
    const int stages = static_cast<int>(number(1, 6));
    for (int i = 0; i < stages; ++i) add_stage(chain);
    return chain;
  }

 private:
  std::int64_t number(std::int64_t least, std::int64_t most) {
    // Not a standard distribution: those differ from library to library.
    return least +
           static_cast<std::int64_t>(
               random_() % static_cast<std::uint64_t>(most - least + 1));
  }

  Chain plain(bool varies) {
    const std::int64_t count = number(0, 40);
    const std::int64_t first = number(0, 9) * 50;
    return {numbered(count, first, varies),
            [=](std::int64_t epoch) {
              return numbered(count, first, varies)->rows(epoch);
            },
            "numbered(" + std::to_string(count) + ")"};
  }

  Chain source() {
    switch (number(0, 4)) {
      case 0:
        return interleaved();
      case 1:
        return concatenated();
      case 2:
        return zipped();
      case 3:
        return plain(true);
      default:
        return plain(false);
    }
  }

  struct Parts {
    std::vector<std::unique_ptr<Stream>> streams;
    std::vector<Model> models;
  };
  Parts parts(int count) {
    Parts made;
    for (int i = 0; i < count; ++i) {
      Chain chain = plain(false);
      made.streams.push_back(std::move(chain.stream));
      made.models.push_back(std::move(chain.model));
    }
    return made;
  }

  Chain concatenated() {
    Parts of = parts(static_cast<int>(number(1, 3)));
    const auto models = of.models;
    return {taken(concatenate_stream(std::move(of.streams))),
            [=](std::int64_t epoch) {
              Rows all;
              for (const Model& model : models) {
                for (Row& row : model(epoch)) all.push_back(std::move(row));
              }
              return all;
            },
            "concatenate"};
  }

  Chain zipped() {
    Parts of = parts(static_cast<int>(number(1, 3)));
    const auto models = of.models;
    return {taken(zip_stream(std::move(of.streams))),
            [=](std::int64_t epoch) {
              Rows all = models[0](epoch);
              for (std::size_t k = 1; k < models.size(); ++k) {
                const Rows other = models[k](epoch);
                all.resize(std::min(all.size(), other.size()));
                for (std::size_t i = 0; i < all.size(); ++i) {
                  all[i].shapes.push_back(other[i].shapes[0]);
                  all[i].values.push_back(other[i].values[0]);
                }
              }
              return all;
            },
            "zip"};
  }

  Chain interleaved() {
    Parts of = parts(static_cast<int>(number(1, 6)));
    const auto models = of.models;
    InterleaveOptions options;
    options.cycle = static_cast<int>(number(1, 4));
    options.block = number(1, 3);
    return {
        taken(interleave_stream(std::move(of.streams), options)),
        [=](std::int64_t epoch) { return take_turns(models, options, epoch); },
        "interleave"};
  }

  static Rows take_turns(const std::vector<Model>& models,
                         const InterleaveOptions& options, std::int64_t epoch) {
    std::vector<Rows> waiting;
    for (const Model& model : models) waiting.push_back(model(epoch));
    std::reverse(waiting.begin(), waiting.end());
    const std::size_t places =
        std::min(static_cast<std::size_t>(options.cycle), models.size());
    std::vector<std::optional<Rows>> open(places);
    Rows all;
    std::size_t place = 0;
    for (;;) {
      const bool none = std::none_of(open.begin(), open.end(),
                                     [](const auto& o) { return bool(o); });
      if (none && waiting.empty()) return all;
      if (!open[place] && !waiting.empty()) {
        open[place] = std::move(waiting.back());
        waiting.pop_back();
      }
      if (open[place]) {
        for (std::int64_t i = 0; i < options.block && open[place]; ++i) {
          if (open[place]->empty()) {
            open[place].reset();
          } else {
            all.push_back(open[place]->front());
            open[place]->erase(open[place]->begin());
          }
        }
      }
      place = (place + 1) % places;
    }
  }

  void add_stage(Chain& chain) {
    switch (number(0, 10)) {
      case 0:
        return take(chain);
      case 1:
        return skip(chain);
      case 2:
        return shard(chain);
      case 3:
        return repeat(chain);
      case 4:
        return filter(chain);
      case 5:
        return shuffle(chain);
      case 6:
        return cache(chain);
      case 7:
        return apart(chain);
      default:
        return map(chain);
    }
  }

  void wrap(Chain& chain, const std::string& stage,
            Result<std::unique_ptr<Stream>> stream, Model model) {
    chain.stream = taken(std::move(stream));
    chain.model = std::move(model);
    chain.text += " | " + stage;
  }

  void take(Chain& chain) {
    const std::int64_t n = number(0, 50);
    wrap(chain, "take(" + std::to_string(n) + ")",
         take_stream(std::move(chain.stream), n),
         [n, below = chain.model](std::int64_t epoch) {
           Rows rows = below(epoch);
           if (std::ssize(rows) > n) rows.resize(static_cast<std::size_t>(n));
           return rows;
         });
  }

  void skip(Chain& chain) {
    const std::int64_t n = number(0, 10);
    wrap(chain, "skip(" + std::to_string(n) + ")",
         skip_stream(std::move(chain.stream), n),
         [n, below = chain.model](std::int64_t epoch) {
           Rows rows = below(epoch);
           rows.erase(rows.begin(), rows.begin() + std::min<std::int64_t>(
                                                       n, std::ssize(rows)));
           return rows;
         });
  }

  void shard(Chain& chain) {
    const std::int64_t shards = number(1, 3);
    const std::int64_t shard = number(0, shards - 1);
    wrap(chain, "shard(" + std::to_string(shard) + ")",
         shard_stream(std::move(chain.stream), shard, shards),
         [=, below = chain.model](std::int64_t epoch) {
           const Rows rows = below(epoch);
           Rows ours;
           for (std::int64_t i = shard; i < std::ssize(rows); i += shards) {
             ours.push_back(rows[static_cast<std::size_t>(i)]);
           }
           return ours;
         });
  }

  void repeat(Chain& chain) {
    const std::int64_t times = number(0, 3);
    wrap(chain, "repeat(" + std::to_string(times) + ")",
         repeat_stream(std::move(chain.stream), times),
         [=, below = chain.model](std::int64_t epoch) {
           Rows all;
           for (std::int64_t r = 0; r < times; ++r) {
             for (Row& row : below(epoch * times + r)) {
               all.push_back(std::move(row));
             }
           }
           return all;
         });
  }

  void filter(Chain& chain) {
    const std::int64_t modulus = number(2, 4);
    wrap(chain, "filter",
         filter_stream(std::move(chain.stream),
                       [=](const Element& element) {
                         return Result<bool>(element.index % modulus != 0);
                       }),
         [=, below = chain.model](std::int64_t epoch) {
           Rows rows = below(epoch);
           std::erase_if(
               rows, [=](const Row& row) { return row.index % modulus == 0; });
           return rows;
         });
  }

  void shuffle(Chain& chain) {
    const std::int64_t window = number(1, 30);
    const auto seed = static_cast<std::uint64_t>(number(0, 99));
    wrap(chain, "shuffle(" + std::to_string(window) + ")",
         shuffle_window_stream(std::move(chain.stream), {window, seed}),
         [=, below = chain.model](std::int64_t epoch) {
           return by_key(below(epoch), window, seed, epoch);
         });
  }

  static Rows by_key(Rows rows, std::int64_t window, std::uint64_t seed,
                     std::int64_t epoch) {
    std::vector<std::pair<std::uint64_t, std::size_t>> order;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto block = philox(seed ^ 0x77696e646f770000,
                                static_cast<std::uint64_t>(epoch), i);
      const std::uint64_t bits =
          static_cast<std::uint64_t>(block[0]) << 32 | block[1];
      const auto range = static_cast<std::uint64_t>(window) * 65536;
      order.emplace_back(i * 65536 + bits % range, i);
    }
    std::sort(order.begin(), order.end());
    Rows sorted;
    for (const auto& [key, i] : order) sorted.push_back(rows[i]);
    return sorted;
  }

  void cache(Chain& chain) {
    const CacheOptions options = {number(0, 4000), testing::TempDir()};
    wrap(chain, "cache",
         std::unique_ptr<Stream>(
             taken(CacheStream::create(std::move(chain.stream), options))),
         [below = chain.model](std::int64_t) { return below(0); });
  }

  void map(Chain& chain) {
    std::vector<std::shared_ptr<Map>> maps;
    const std::int64_t count = number(1, 3);
    for (std::int64_t i = 0; i < count; ++i) {
      maps.push_back(std::make_shared<TripleMap>());
    }
    MapStreamOptions options;
    options.depth = static_cast<int>(number(1, 6));
    options.chunk_bytes = number(1, 5000);
    wrap(
        chain, "map",
        map_stream(std::move(chain.stream), std::move(maps), workers_, options),
        [=, below = chain.model](std::int64_t epoch) {
          Rows rows = below(epoch);
          for (Row& row : rows) {
            for (std::int64_t& value : row.values[0]) {
              for (std::int64_t i = 0; i < count; ++i) {
                value = TripleMap::of(value, row.index, epoch);
              }
            }
          }
          return rows;
        });
  }

  // Elements taken apart, padded to one shape before or not.
  void apart(Chain& chain) {
    if (chain.stream->spec()[0].shape.rank == 0) return;
    constexpr std::int64_t kMostRows = 3;
    std::int64_t rows = kMostRows;
    if (number(0, 1) == 1) {
      rows = number(kMostRows, 6);
      std::vector<std::shared_ptr<Map>> maps;
      maps.push_back(pad({{}, {rows}, -7}));
      wrap(chain, "pad(" + std::to_string(rows) + ")",
           map_stream(std::move(chain.stream), std::move(maps), workers_, {}),
           [=, below = chain.model](std::int64_t epoch) {
             return padded(below(epoch), rows);
           });
    }
    wrap(chain, "unbatch", unbatch_stream(std::move(chain.stream)),
         [=, below = chain.model](std::int64_t epoch) {
           return taken_apart(below(epoch), rows);
         });
  }

  static Rows padded(Rows rows, std::int64_t to) {
    for (Row& row : rows) {
      row.shapes[0] = {to};
      row.values[0].resize(static_cast<std::size_t>(to), -7);
    }
    return rows;
  }

  static Rows taken_apart(const Rows& batches, std::int64_t most) {
    Rows rows;
    for (const Row& batch : batches) {
      std::int64_t index = batch.index * most;
      for (const std::int64_t value : batch.values[0]) {
        rows.push_back({index++, {Extents{}}, {{value}}});
      }
    }
    return rows;
  }

  std::mt19937 random_;
  Workers& workers_;
};

}  // namespace plimsoll::data
