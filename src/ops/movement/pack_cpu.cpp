#include <algorithm>
#include <vector>

#include "ops/movement/chunked.h"
#include "ops/movement/pack.h"
#include "ops/movement/pack_tiles.h"

namespace plimsoll::ops {
namespace {

using graph::KernelCandidate;
using graph::KernelQuery;

// Innermost digits are done by a table of places.
constexpr std::int64_t kMostTable = 4096;

// The digits cut in two: a table's entries, and where tables begin.
class PackTable {
 public:
  explicit PackTable(const PackPlan& plan) : plan_(plan) {
    std::size_t inner = plan.digits.size();
    std::int64_t size = 1;
    while (inner > 0 && size * plan.digits[inner - 1].count <= kMostTable) {
      size *= plan.digits[--inner].count;
    }
    outer_ = inner;
    const std::size_t axes = plan.extents.size();
    reach_.assign(axes, 0);
    for (std::int64_t i = 0; i < size; ++i) {
      std::vector<std::int64_t> at(axes, 0);
      places_.push_back(place(i, outer_, plan.digits.size(), at));
      for (std::size_t axis = 0; axis < axes; ++axis) {
        reach_[axis] = std::max(reach_[axis], at[axis]);
        indices_.push_back(static_cast<std::int32_t>(at[axis]));
      }
    }
    tables_ = plan.elements / size;
  }

  std::int64_t tables() const { return tables_; }
  std::int64_t entries() const { return std::ssize(places_); }

  // Calls move(packed place, row-major place), a negative one for padding.
  template <class F>
  void run(std::int64_t begin, std::int64_t end, const F& move) const {
    const std::size_t axes = plan_.extents.size();
    for (std::int64_t table = begin; table < end; ++table) {
      const std::int64_t first = table * entries();
      const std::int64_t base = place(table, 0, outer_);
      if (is_whole(table)) {
        for (std::int64_t i = 0; i < entries(); ++i) {
          move(first + i, base + places_[static_cast<std::size_t>(i)]);
        }
        continue;
      }
      for (std::int64_t i = 0; i < entries(); ++i) {
        bool inside = true;
        for (std::size_t axis = 0; axis < axes; ++axis) {
          inside &= start(table, axis) +
                        indices_[static_cast<std::size_t>(i) * axes + axis] <
                    plan_.extents[axis];
        }
        move(first + i,
             inside ? base + places_[static_cast<std::size_t>(i)] : -1);
      }
    }
  }

  std::int64_t bytes() const {
    return 2 * (entries() * 8 + std::ssize(indices_) * 4) + 1024;
  }

 private:
  // The row-major place that the digits [from, to) of `number` stand for.
  std::int64_t place(std::int64_t number, std::size_t from,
                     std::size_t to) const {
    std::int64_t sum = 0;
    for (std::size_t i = to; i-- > from;) {
      sum += number % plan_.digits[i].count * plan_.digits[i].stride;
      number /= plan_.digits[i].count;
    }
    return sum;
  }
  std::int64_t place(std::int64_t number, std::size_t from, std::size_t to,
                     std::vector<std::int64_t>& at) const {
    const std::int64_t sum = place(number, from, to);
    for (std::size_t i = to; i-- > from;) {
      at[static_cast<std::size_t>(plan_.digits[i].axis)] +=
          number % plan_.digits[i].count * plan_.digits[i].step;
      number /= plan_.digits[i].count;
    }
    return sum;
  }
  // Where along an axis a table begins.
  std::int64_t start(std::int64_t table, std::size_t axis) const {
    std::int64_t at = 0;
    for (std::size_t i = outer_; i-- > 0;) {
      if (plan_.digits[i].axis == static_cast<int>(axis)) {
        at += table % plan_.digits[i].count * plan_.digits[i].step;
      }
      table /= plan_.digits[i].count;
    }
    return at;
  }
  bool is_whole(std::int64_t table) const {
    for (std::size_t axis = 0; axis < plan_.extents.size(); ++axis) {
      if (plan_.is_padded[axis] &&
          start(table, axis) + reach_[axis] >= plan_.extents[axis]) {
        return false;
      }
    }
    return true;
  }

  PackPlan plan_;
  std::size_t outer_ = 0;  // digits before the table's
  std::int64_t tables_ = 0;
  std::vector<std::int64_t> places_;   // by entry
  std::vector<std::int32_t> indices_;  // by entry and axis
  std::vector<std::int64_t> reach_;    // the largest index of an axis
};

template <class Word>
class PackKernel final : public Kernel {
 public:
  PackKernel(const PackPlan& plan, bool back, double bytes,
             ComputeThreads& threads)
      : table_(plan),
        back_(back),
        chunks_(movement_chunks(2 * bytes, threads.size())),
        threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const auto* from = static_cast<const Word*>(args.inputs[0]);
    auto* to = static_cast<Word*>(args.outputs[0]);
    for_ranges(threads_, chunks_, table_.tables(),
               [&](std::int64_t begin, std::int64_t end) {
                 if (back_) {
                   table_.run(begin, end,
                              [&](std::int64_t packed, std::int64_t place) {
                                if (place >= 0) to[place] = from[packed];
                              });
                 } else {
                   table_.run(begin, end,
                              [&](std::int64_t packed, std::int64_t place) {
                                to[packed] = place >= 0 ? from[place] : Word(0);
                              });
                 }
               });
    return LaunchStatus::ok;
  }

 private:
  const PackTable table_;
  const bool back_;
  const std::int64_t chunks_;
  ComputeThreads& threads_;
};

// Few lines are open at a time, so that they stay in the first cache whatever
// the strides.
template <class Word>
class TilesKernel final : public Kernel {
 public:
  TilesKernel(PackTiles tiles, bool back, double bytes, ComputeThreads& threads)
      : tiles_(std::move(tiles)),
        back_(back),
        chunks_(movement_chunks(2 * bytes, threads.size())),
        threads_(threads) {}

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    const auto* from = static_cast<const Word*>(args.inputs[0]);
    auto* to = static_cast<Word*>(args.outputs[0]);
    for_ranges(threads_, chunks_, tiles_.tiles,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const PackTile tile = tile_at(tiles_, i);
                   if (back_) {
                     unpack(from + tile.packed, to + tile.place, tile);
                   } else {
                     pack(from + tile.place, to + tile.packed, tile);
                   }
                 }
               });
    return LaunchStatus::ok;
  }

 private:
  static constexpr std::int64_t kColumns = 32;

  void pack(const Word* from, Word* to, const PackTile& tile) const {
    if (tile.rows < tiles_.rows || tile.columns < tiles_.columns) {
      clear(to);
    }
    if (tiles_.packed_column == 1) {
      for (std::int64_t row = 0; row < tile.rows; ++row) {
        std::copy_n(from + row * tiles_.row_stride, tile.columns,
                    to + row * tiles_.packed_row);
      }
      return;
    }
    if constexpr (sizeof(Word) == 2) {
      if (tile.rows == 2 && tiles_.packed_column == 2) {
        return zip(from, to, tile.columns);
      }
    }
    for (std::int64_t first = 0; first < tile.columns; first += kColumns) {
      const std::int64_t end = std::min(first + kColumns, tile.columns);
      for (std::int64_t row = 0; row < tile.rows; ++row) {
        const Word* line = from + row * tiles_.row_stride;
        for (std::int64_t i = first; i < end; ++i) {
          to[row + i * tiles_.packed_column] = line[i];
        }
      }
    }
  }

  // The padding, and what is about to be written.
  void clear(Word* to) const {
    const bool in_runs = tiles_.packed_column == 1;
    const std::int64_t lines = in_runs ? tiles_.rows : tiles_.columns;
    const std::int64_t words = in_runs ? tiles_.columns : tiles_.rows;
    const std::int64_t stride =
        in_runs ? tiles_.packed_row : tiles_.packed_column;
    for (std::int64_t i = 0; i < lines; ++i) {
      std::fill_n(to + i * stride, words, Word(0));
    }
  }

  // Two rows word by word, written by larger ones.
  void zip(const Word* from, Word* to, std::int64_t columns) const {
    const Word* other = from + tiles_.row_stride;
    for (std::int64_t i = 0; i < columns; ++i) {
      to[2 * i] = from[i];
      to[2 * i + 1] = other[i];
    }
  }

  void unpack(const Word* from, Word* to, const PackTile& tile) const {
    if (tiles_.packed_column == 1) {
      for (std::int64_t row = 0; row < tile.rows; ++row) {
        std::copy_n(from + row * tiles_.packed_row, tile.columns,
                    to + row * tiles_.row_stride);
      }
      return;
    }
    for (std::int64_t first = 0; first < tile.columns; first += kColumns) {
      const std::int64_t end = std::min(first + kColumns, tile.columns);
      for (std::int64_t row = 0; row < tile.rows; ++row) {
        Word* line = to + row * tiles_.row_stride;
        for (std::int64_t i = first; i < end; ++i) {
          line[i] = from[row + i * tiles_.packed_column];
        }
      }
    }
  }

  const PackTiles tiles_;
  const bool back_;
  const std::int64_t chunks_;
  ComputeThreads& threads_;
};

}  // namespace

Result<std::vector<KernelCandidate>> pack_candidates(const KernelQuery& query,
                                                     ComputeThreads& threads) {
  const WordPlan words =
      in_words(pack_plan(*query.attrs), size_of(query.inputs[0].dtype));
  const bool tiled = pack_tiles(words.plan).has_value();
  auto candidate = movement_candidate(std::string(query.op->name), query,
                                      tiled ? 10e9 : 4e9, threads);
  candidate.private_bytes += tiled ? 1024 : PackTable(words.plan).bytes();
  return std::vector{std::move(candidate)};
}

Result<std::unique_ptr<Kernel>> create_pack(const KernelQuery& query,
                                            const KernelCandidate&,
                                            ComputeThreads& threads) {
  const WordPlan words =
      in_words(pack_plan(*query.attrs), size_of(query.inputs[0].dtype));
  const auto tiles = pack_tiles(words.plan);
  const bool back = query.op->name == "unpack";
  const double bytes = bytes_moved(query);
  const auto make = [&](auto word) -> std::unique_ptr<Kernel> {
    using Word = decltype(word);
    if (tiles) {
      return std::make_unique<TilesKernel<Word>>(*tiles, back, bytes, threads);
    }
    return std::make_unique<PackKernel<Word>>(words.plan, back, bytes, threads);
  };
  switch (words.bytes) {
    case 1:
      return make(std::uint8_t());
    case 2:
      return make(std::uint16_t());
    case 4:
      return make(std::uint32_t());
    default:
      return make(std::uint64_t());
  }
}

}  // namespace plimsoll::ops
