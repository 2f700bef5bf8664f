// A whole set in random order for files: blocks of neighbouring elements in
// random order, read in one go each, then shuffled in a window of blocks.
#pragma once

#include <memory>

#include "data/stream.h"
#include "data/streams/block_windows.h"

namespace plimsoll::data {

class BlockShuffle final : public Stream {
 public:
  // The set's shapes must be fixed.
  static Result<std::unique_ptr<BlockShuffle>> create(
      std::shared_ptr<const Indexed> set, const BlockShuffleOptions& options);

  std::string name() const override { return "shuffle"; }
  const ElementSpec& spec() const override { return windows_.set().spec(); }
  std::int64_t count() const override { return windows_.set().size(); }
  void place(Placer& placer) override { windows_.place(placer, name()); }
  Status start(std::int64_t epoch) override;
  Result<bool> next(Element& out) override;
  Result<std::int64_t> next_rows(std::int64_t most,
                                 std::span<std::byte* const> rows) override;
  Result<std::int64_t> stacked_index(std::int64_t before) override;
  void save(State& state) const override { state.push(position_); }
  Status restore(std::int64_t epoch, StateReader& state) override;
  std::string whereabouts(const Element& element) const override {
    return windows_.set().whereabouts(element.index);
  }

  std::int64_t block_elements() const { return windows_.block_elements(); }
  std::int64_t window_elements() const { return windows_.window_elements(); }

 private:
  BlockShuffle(std::shared_ptr<const Indexed> set,
               const BlockShuffleOptions& options)
      : windows_(std::move(set), options) {}

  BlockWindows windows_;
  std::int64_t position_ = 0;  // of the next element
};

}  // namespace plimsoll::data
