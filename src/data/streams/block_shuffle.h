// A whole set in random order for files: blocks of neighbouring elements in
// random order, read in one go each, then shuffled in a window of blocks.
#pragma once

#include <memory>
#include <optional>

#include "data/indexed.h"
#include "data/permutation.h"
#include "data/stream.h"

namespace plimsoll::data {

struct BlockShuffleOptions {
  std::uint64_t seed = 1;
  std::int64_t block_bytes = 256 * 1024;  // at least; whole elements
  std::int64_t window_bytes = 4 * 1024 * 1024;
};

class BlockShuffle final : public Stream {
 public:
  // The set's shapes must be fixed.
  static Result<std::unique_ptr<BlockShuffle>> create(
      std::shared_ptr<const Indexed> set, const BlockShuffleOptions& options);

  std::string name() const override { return "shuffle"; }
  const ElementSpec& spec() const override { return set_->spec(); }
  std::int64_t count() const override { return set_->size(); }
  void place(Placer& placer) override;
  Status start(std::int64_t epoch) override;
  Result<bool> next(Element& out) override;
  void save(State& state) const override { state.push(position_); }
  Status restore(std::int64_t epoch, StateReader& state) override;
  std::string whereabouts(const Element& element) const override {
    return set_->whereabouts(element.index);
  }

  std::int64_t block_elements() const { return block_; }
  std::int64_t window_elements() const { return block_ * window_blocks_; }

 private:
  BlockShuffle(std::shared_ptr<const Indexed> set, std::uint64_t seed)
      : set_(std::move(set)), seed_(seed) {}
  Status load_window(std::int64_t window);

  std::shared_ptr<const Indexed> set_;
  std::uint64_t seed_;
  std::int64_t block_ = 1;          // elements
  std::int64_t window_blocks_ = 1;  // in a full window
  std::int64_t epoch_ = 0;
  std::int64_t position_ = 0;          // of the next element
  std::int64_t loaded_ = -1;           // the window in memory
  std::int64_t in_window_ = 0;         // its elements
  std::optional<Permutation> blocks_;  // of the epoch
  std::optional<Permutation> order_;   // within the window
  std::array<std::byte*, kMostFields> rows_{};
  std::int64_t* numbers_ = nullptr;  // of the window's elements
  std::span<std::byte> scratch_;
};

}  // namespace plimsoll::data
