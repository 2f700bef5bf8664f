#include "data/streams/block_windows.h"

#include <algorithm>
#include <numeric>
#include <thread>
#include <utility>

#include "base/hash.h"
#include "base/philox.h"
#include "data/spin_wait.h"

namespace plimsoll::data {
namespace {

// So that 32 bits hold a row, and chances differ by less than a quarter of
// them.
constexpr std::int64_t kMostWindowElements = std::int64_t{1} << 30;

}  // namespace

BlockWindows::BlockWindows(std::shared_ptr<const Indexed> set,
                           const BlockShuffleOptions& options)
    : set_(std::move(set)),
      seed_(options.seed),
      workers_(options.workers),
      ahead_(workers_ != nullptr && workers_->threads() > 0) {
  std::int64_t element_bytes = 0;
  for (const FieldSpec& field : set_->spec()) element_bytes += field.most_bytes;
  element_bytes = std::max<std::int64_t>(element_bytes, 1);
  const std::int64_t size = set_->size();
  block_ =
      std::clamp<std::int64_t>(options.block_bytes / element_bytes +
                                   (options.block_bytes % element_bytes > 0),
                               1, std::min(size, kMostWindowElements));
  const std::int64_t blocks = (size + block_ - 1) / block_;
  window_blocks_ = std::clamp<std::int64_t>(
      options.window_bytes / (block_ * element_bytes), 1,
      std::min(blocks, kMostWindowElements / block_));
  parts_ = 1 + window_blocks_;
  // Alone in its window, the set needs no other.
  ahead_ = ahead_ && window_blocks_ < blocks;
}

void BlockWindows::place(Placer& placer, const std::string& stage) {
  const std::int64_t elements = window_elements();
  for (std::size_t b = 0; b < (ahead_ ? 2 : 1); ++b) {
    Window& window = buffers_[b].window;
    for (std::size_t i = 0; i < set_->spec().size(); ++i) {
      window.rows[i] =
          placer.take(stage, "window", elements * set_->spec()[i].most_bytes);
    }
    window.numbers = reinterpret_cast<std::int64_t*>(placer.take(
        stage, "numbers",
        elements * static_cast<std::int64_t>(sizeof(std::int64_t))));
    window.order = reinterpret_cast<std::uint32_t*>(placer.take(
        stage, "order",
        elements * static_cast<std::int64_t>(sizeof(std::uint32_t))));
  }
  scratch_bytes_ = round_up(set_->scratch_bytes(), 64);
  scratch_ = placer.take(stage, "scratch", lanes() * scratch_bytes_);
}

std::int64_t BlockWindows::count() const {
  return (set_->size() + window_elements() - 1) / window_elements();
}

std::int64_t BlockWindows::elements_of(std::int64_t window) const {
  return std::min(window_elements(), set_->size() - window * window_elements());
}

void BlockWindows::start(std::int64_t epoch) {
  stop_reading();
  epoch_ = epoch;
  begun_ = given_ = -1;
  blocks_.emplace(set_->size() / block_, seed_,
                  static_cast<std::uint64_t>(epoch));
}

// Afterwards no other thread knows these windows.
void BlockWindows::stop_reading() noexcept {
  if (!ahead_) return;
  part_limit_.store(0);
  outstanding_.fetch_sub(static_cast<std::uint32_t>(workers_->forget(this)));
  while (outstanding_.load(std::memory_order_acquire) > 0) {
    std::this_thread::yield();
  }
}

// Lets its parts be read.
void BlockWindows::begin(std::int64_t window) {
  Buffer& buffer = buffer_of(window);
  buffer.window.number = window;
  buffer.window.elements = elements_of(window);
  buffer.failed.store(false);
  buffer.parts_left.store(parts_);
  begun_ = window;
  part_limit_.store((window + 1) * parts_);
  if (!ahead_) return;
  const auto tasks = std::min<std::int64_t>(workers_->threads(), parts_);
  for (std::int64_t i = 0; i < tasks; ++i) {
    outstanding_.fetch_add(1);
    workers_->submit({&BlockWindows::help, this, 0});
  }
}

void BlockWindows::help(void* windows, int, int lane) {
  auto& self = *static_cast<BlockWindows*>(windows);
  while (self.read_a_part(lane)) {
  }
  self.outstanding_.fetch_sub(1, std::memory_order_release);
}

// False: all that may be read has been taken.
bool BlockWindows::read_a_part(int lane) {
  std::int64_t part = next_part_.load();
  do {
    if (part >= part_limit_.load()) return false;
  } while (!next_part_.compare_exchange_weak(part, part + 1));
  Buffer& buffer = buffer_of(part / parts_);
  bool done = false;
  try {
    done = static_cast<bool>(read_part(buffer.window, part % parts_, lane));
  } catch (...) {
    // Whoever wants the window reads it again and meets the same.
  }
  if (!done) buffer.failed.store(true);
  if (buffer.parts_left.fetch_sub(1) == 1) {
    finished_.fetch_add(1);
    wake_all(finished_);
  }
  return true;
}

Status BlockWindows::await(std::int64_t window) {
  Buffer& buffer = buffer_of(window);
  // Rather than sleep, this thread reads what no other has begun.
  const int lane = lanes() - 1;
  while (read_a_part(lane)) {
  }
  for (;;) {
    const std::uint32_t seen = finished_.load();
    if (buffer.parts_left.load() == 0) break;
    wait_while(finished_, seen);
  }
  if (!buffer.failed.load()) return {};
  // One after another: always the same error of several.
  for (std::int64_t part = 0; part < parts_; ++part) {
    PLIMSOLL_RETURN_IF_ERROR(read_part(buffer.window, part, lane));
  }
  return {};
}

Result<const BlockWindows::Window*> BlockWindows::get(std::int64_t window) {
  Buffer& buffer = buffer_of(window);
  if (window == given_) return &buffer.window;
  given_ = -1;
  if (window != begun_) {
    stop_reading();
    next_part_.store(window * parts_);
    begin(window);
  }
  PLIMSOLL_RETURN_IF_ERROR(await(window));
  given_ = window;
  if (ahead_ && window + 1 < count()) begin(window + 1);
  return &buffer.window;
}

Status BlockWindows::read_part(Window& window, std::int64_t part,
                               int lane) const {
  if (part > 0) return read_block(window, part - 1, lane);
  draw_order(window);
  return {};
}

// Whole blocks come in random order; what is left of the set joins the last
// window, so that every window before it is full and begins where it must.
Status BlockWindows::read_block(Window& window, std::int64_t block,
                                int lane) const {
  const std::int64_t first = block * block_;  // row of the window
  if (first >= window.elements) return {};
  const std::int64_t which = window.number * window_blocks_ + block;
  const std::int64_t start =
      (which < blocks_->size() ? (*blocks_)(which) : which) * block_;
  const auto count =
      static_cast<std::size_t>(std::min(block_, window.elements - first));
  const std::span numbers(window.numbers + first, count);
  std::iota(numbers.begin(), numbers.end(), start);
  std::array<std::byte*, kMostFields> rows = window.rows;
  for (std::size_t i = 0; i < set_->spec().size(); ++i) {
    rows[i] += first * set_->spec()[i].most_bytes;
  }
  const std::span scratch(scratch_ + lane * scratch_bytes_,
                          static_cast<std::size_t>(set_->scratch_bytes()));
  PLIMSOLL_RETURN_IF_ERROR(
      set_->gather(numbers, rows, ReadContext{scratch, epoch_}));
  set_->origins(numbers, epoch_);
  return {};
}

// Each row changes places with one before it, or stays.
void BlockWindows::draw_order(Window& window) const {
  const std::uint64_t key = stable_hash("data.shuffle.window", seed_);
  const std::uint64_t which =
      static_cast<std::uint64_t>(epoch_) * static_cast<std::uint64_t>(count()) +
      static_cast<std::uint64_t>(window.number);
  const auto rows = static_cast<std::uint32_t>(window.elements);
  PhiloxBlock drawn{};
  for (std::uint32_t row = 0; row < rows; ++row) {
    if (row % 4 == 0) drawn = philox(key, which, row / 4);
    const std::uint64_t chance = drawn[row % 4];
    const auto other = static_cast<std::uint32_t>(chance * (row + 1) >> 32);
    window.order[row] = window.order[other];
    window.order[other] = row;
  }
}

}  // namespace plimsoll::data
