// The windows of a shuffle by blocks, one after another: read into memory and
// given an order. While one is used, other threads may read the next.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "data/indexed.h"
#include "data/permutation.h"
#include "data/placer.h"
#include "data/workers.h"

namespace plimsoll::data {

struct BlockShuffleOptions {
  std::uint64_t seed = 1;
  std::int64_t block_bytes = 256 * 1024;  // at least; whole elements
  std::int64_t window_bytes = 4 * 1024 * 1024;
  // Threads that read the next window, for which there is memory then; they
  // outlive the shuffle. Without them none is read ahead.
  Workers* workers = nullptr;
};

class BlockWindows {
 public:
  struct Window {
    std::int64_t number = -1;
    std::int64_t elements = 0;
    std::array<std::byte*, kMostFields> rows{};  // as the blocks lie
    std::int64_t* numbers = nullptr;             // of the set's elements
    std::uint32_t* order = nullptr;              // which row comes when
  };

  // The set's shapes are fixed.
  BlockWindows(std::shared_ptr<const Indexed> set,
               const BlockShuffleOptions& options);
  ~BlockWindows() { stop_reading(); }
  BlockWindows(const BlockWindows&) = delete;
  BlockWindows& operator=(const BlockWindows&) = delete;

  const Indexed& set() const { return *set_; }
  std::int64_t block_elements() const { return block_; }
  // Of every window but the last.
  std::int64_t window_elements() const { return block_ * window_blocks_; }

  void place(Placer& placer, const std::string& stage);
  void start(std::int64_t epoch);
  // Waits for it, or reads it; the one before it is gone afterwards. Quick
  // where they are asked for in order. After an error it can be asked again.
  Result<const Window*> get(std::int64_t window);

 private:
  // A window is made in parts: first its order, then its blocks.
  struct Buffer {
    Window window;
    std::atomic<std::int64_t> parts_left{0};
    std::atomic<bool> failed{false};
  };

  static void help(void* windows, int item, int lane);
  Buffer& buffer_of(std::int64_t window) {
    return buffers_[ahead_ ? static_cast<std::size_t>(window) % 2 : 0];
  }
  int lanes() const { return ahead_ ? workers_->lanes() : 1; }
  std::int64_t count() const;
  std::int64_t elements_of(std::int64_t window) const;
  void begin(std::int64_t window);
  Status await(std::int64_t window);
  bool read_a_part(int lane);
  Status read_part(Window& window, std::int64_t part, int lane) const;
  Status read_block(Window& window, std::int64_t block, int lane) const;
  void draw_order(Window& window) const;
  void stop_reading() noexcept;

  std::shared_ptr<const Indexed> set_;
  std::uint64_t seed_;
  Workers* workers_;
  bool ahead_;
  std::int64_t block_ = 1;          // elements
  std::int64_t window_blocks_ = 1;  // in a full window
  std::int64_t parts_ = 2;          // of a window
  std::int64_t epoch_ = 0;
  std::int64_t begun_ = -1;  // the last window
  std::int64_t given_ = -1;
  std::optional<Permutation> blocks_;  // of the epoch
  std::array<Buffer, 2> buffers_;
  std::byte* scratch_ = nullptr;  // of each lane
  std::int64_t scratch_bytes_ = 0;

  // Parts are counted through the epoch: whoever reads takes the next.
  alignas(64) std::atomic<std::int64_t> next_part_{0};
  std::atomic<std::int64_t> part_limit_{0};
  alignas(64) std::atomic<std::uint32_t> finished_{0};     // windows
  alignas(64) std::atomic<std::uint32_t> outstanding_{0};  // tasks handed over
};

}  // namespace plimsoll::data
