#include "data/feeder.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "data/permutation.h"
#include "data/reader_thread.h"

namespace plimsoll::data {
namespace {

enum SlotState : std::uint32_t { kFree, kReady, kFailed, kTaken };

// Its state says whose the slot is: the reader's while free, the consumer's
// otherwise. Lines of their own, or the two would slow each other.
struct alignas(64) Slot {
  std::atomic<std::uint32_t> state{kFree};
  Batch batch;
};

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

// About 10 microseconds: going to sleep and being woken costs as much. On one
// processor nobody else could make progress meanwhile.
int spins() { return std::thread::hardware_concurrency() > 1 ? 256 : 0; }

}  // namespace

struct BatchFeeder::Impl {
  Impl(const Source& from, const FeederOptions& how, const FeederLayout& where,
       std::byte* at)
      : source(from),
        options(how),
        layout(where),
        memory(at),
        slots(static_cast<std::size_t>(where.slots)) {}

  Slot& slot_of(std::uint64_t sequence) {
    return slots[sequence % slots.size()];
  }
  Status fill(std::uint64_t sequence, std::int64_t position);
  Status read(const Batch& batch, void* features, void* labels);
  Status check_classes(const Batch& batch) const;
  std::int64_t number_of(std::int64_t position) const {
    return order ? (*order)(position) : position;
  }
  void run_epoch();
  bool wait_until_free(Slot& slot);
  void read_epochs();
  void wake_reader() noexcept;
  void cancel_epoch() noexcept;
  Batch borrow(std::int64_t position, std::int64_t count) const;
  Result<Batch> take();

  const Source& source;
  const FeederOptions options;
  const FeederLayout layout;
  std::byte* const memory;
  std::vector<Slot> slots;
  ReaderThread thread;
  const int spin_limit = spins();

  // Set while no epoch runs; read by both.
  std::optional<Permutation> order;
  std::int64_t epoch_first = 0;
  std::optional<Error> error;  // belongs to the failed slot

  // The consumer's own.
  std::int64_t next_position = 0;
  std::uint64_t taken = 0;
  std::uint64_t released = 0;
  bool started = false;

  alignas(64) std::atomic<std::uint64_t> filled{0};
  alignas(64) std::atomic<std::uint32_t> asleep{0};  // the reader waits
  alignas(64) std::atomic<std::uint32_t> orders{0};  // epochs asked for
  std::atomic<std::uint32_t> busy{0};                // an epoch is being read
  std::atomic<bool> cancel{false};
  std::atomic<bool> quit{false};
};

Batch BatchFeeder::Impl::borrow(std::int64_t position,
                                std::int64_t count) const {
  Batch batch;
  batch.examples = count;
  batch.first = position;
  if (layout.borrow_features) {
    batch.features = source.borrow_features(position, options.features_as);
  }
  if (layout.borrow_labels) {
    batch.labels = source.borrow_labels(position, options.labels_as);
  }
  return batch;
}

Status BatchFeeder::Impl::fill(std::uint64_t sequence, std::int64_t position) {
  const auto index = static_cast<std::int64_t>(sequence % slots.size());
  const std::int64_t count =
      std::min(options.batch, source.examples() - position);
  auto* const numbers =
      reinterpret_cast<std::int64_t*>(memory + layout.indices_offset);
  for (std::int64_t i = 0; i < count; ++i) {
    numbers[i] = number_of(position + i);
  }
  std::byte* const start = memory + index * layout.slot_bytes;
  Batch batch = borrow(position, count);
  batch.slot = static_cast<int>(index);
  void* features = nullptr;
  void* labels = nullptr;
  if (!layout.borrow_features) {
    batch.features = features = start + layout.features_offset;
  }
  if (!layout.borrow_labels) {
    batch.labels = labels = start + layout.labels_offset;
  }
  slot_of(sequence).batch = batch;
  PLIMSOLL_RETURN_IF_ERROR(read(batch, features, labels));
  return check_classes(batch);
}

Status BatchFeeder::Impl::read(const Batch& batch, void* features,
                               void* labels) {
  const auto* const numbers =
      reinterpret_cast<const std::int64_t*>(memory + layout.indices_offset);
  try {
    return source.read({numbers, static_cast<std::size_t>(batch.examples)},
                       options.features_as, features, options.labels_as, labels,
                       {memory + layout.scratch_offset,
                        static_cast<std::size_t>(layout.scratch_bytes)});
  } catch (const std::exception& thrown) {  // a source of the user's own
    return Error{ErrorCode::internal,
                 fmt::format("{}: {}", source.describe(), thrown.what())};
  }
}

// A class that the model has no output for would train to NaN.
Status BatchFeeder::Impl::check_classes(const Batch& batch) const {
  if (options.classes == 0 || options.labels_as != DType::i32) return {};
  const auto* const labels = static_cast<const std::int32_t*>(batch.labels);
  const std::int64_t width = source.labels().elements();
  const auto classes = static_cast<std::uint64_t>(options.classes);
  for (std::int64_t i = 0; i < batch.examples * width; ++i) {
    const std::int64_t label = labels[i];
    if (static_cast<std::uint64_t>(label) < classes) continue;
    return Error{
        ErrorCode::io,
        fmt::format("{}: example {} has class {}, but the model has {} classes,"
                    " from 0 to {}",
                    source.describe(), number_of(batch.first + i / width),
                    label, classes, classes - 1)};
  }
  return {};
}

bool BatchFeeder::Impl::wait_until_free(Slot& slot) {
  for (int i = 0; i < spin_limit; ++i) {
    if (cancel.load(std::memory_order_relaxed)) return false;
    if (slot.state.load(std::memory_order_acquire) == kFree) return true;
    pause_briefly();
  }
  for (;;) {
    // In this order on both sides (say, then look), one of the two sees the
    // other: no wake-up is lost.
    asleep.store(1);
    const bool stop = cancel.load();
    if (stop || slot.state.load() == kFree) {
      asleep.store(0);
      return !stop;
    }
    asleep.wait(1);
  }
}

void BatchFeeder::Impl::wake_reader() noexcept {
  asleep.store(0);
  asleep.notify_one();
}

void BatchFeeder::Impl::run_epoch() {
  std::int64_t position = epoch_first;
  for (std::uint64_t sequence = 0; position < source.examples(); ++sequence) {
    Slot& slot = slot_of(sequence);
    if (!wait_until_free(slot)) return;
    auto status = fill(sequence, position);
    position += options.batch;
    if (!status) error = std::move(status).error();
    filled.store(sequence + 1, std::memory_order_relaxed);
    slot.state.store(status ? kReady : kFailed);
    slot.state.notify_one();
    if (!status) return;
  }
}

void BatchFeeder::Impl::read_epochs() {
  std::uint32_t seen = 0;
  for (;;) {
    orders.wait(seen);
    seen = orders.load();
    if (quit.load()) return;
    run_epoch();
    busy.store(0);
    busy.notify_one();
  }
}

void BatchFeeder::Impl::cancel_epoch() noexcept {
  if (!thread.running()) return;
  cancel.store(true);
  if (asleep.load() != 0) wake_reader();
  busy.wait(1);
}

Result<Batch> BatchFeeder::Impl::take() {
  Slot& slot = slot_of(taken);
  std::uint32_t state = slot.state.load(std::memory_order_acquire);
  if (state == kTaken) {
    return Error{ErrorCode::internal,
                 fmt::format("batch slot {} is asked for before it was "
                             "released: the ring has {} slots",
                             slot.batch.slot, slots.size())};
  }
  if (!thread.running()) {
    auto status = fill(taken, next_position);
    if (!status) error = std::move(status).error();
    state = status ? kReady : kFailed;
  } else if (state == kFree) {
    if (asleep.load() != 0) wake_reader();
    for (int i = 0; state == kFree && i < spin_limit; ++i) {
      pause_briefly();
      state = slot.state.load(std::memory_order_acquire);
    }
    while (state == kFree) {
      slot.state.wait(kFree);
      state = slot.state.load(std::memory_order_acquire);
    }
  }
  if (state == kFailed) {
    next_position = source.examples();
    return *std::exchange(error, std::nullopt);
  }
  ++taken;
  next_position += slot.batch.examples;
  slot.state.store(kTaken, std::memory_order_relaxed);
  return slot.batch;
}

BatchFeeder::BatchFeeder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

BatchFeeder::~BatchFeeder() { stop(); }

Result<std::unique_ptr<BatchFeeder>> BatchFeeder::create(
    const Source& source, const FeederOptions& options,
    const FeederLayout& layout, std::span<std::byte> memory) {
  if (options.batch < 1) {
    return Error{ErrorCode::bad_input,
                 fmt::format("a batch of {} examples: at least 1 is needed",
                             options.batch)};
  }
  if (layout != feeder_layout(source, options) ||
      static_cast<std::int64_t>(memory.size()) < layout.total_bytes ||
      reinterpret_cast<std::uintptr_t>(memory.data()) % 64 != 0) {
    return Error{ErrorCode::internal,
                 fmt::format("the feeder got {} bytes of memory for a layout "
                             "of {}, aligned to 64, or another job's layout",
                             memory.size(), layout.total_bytes)};
  }
  std::unique_ptr<BatchFeeder> feeder(new BatchFeeder(
      std::make_unique<Impl>(source, options, layout, memory.data())));
  if (options.prefetch && !layout.borrows_all()) {
    const auto body = [](void* impl) -> void* {
      static_cast<Impl*>(impl)->read_epochs();
      return nullptr;
    };
    PLIMSOLL_RETURN_IF_ERROR(
        feeder->impl_->thread.start(body, feeder->impl_.get()));
  }
  return feeder;
}

Status BatchFeeder::start_epoch(std::int64_t epoch, std::int64_t first) {
  Impl& impl = *impl_;
  if (first < 0 || first > impl.source.examples()) {
    return Error{ErrorCode::bad_input,
                 fmt::format("position {} is outside an epoch of {} examples",
                             first, impl.source.examples())};
  }
  if (impl.quit.load()) {
    return Error{ErrorCode::cancelled, "the feeder has been stopped"};
  }
  impl.cancel_epoch();
  for (Slot& slot : impl.slots) slot.state.store(kFree);
  impl.filled.store(0);
  impl.taken = impl.released = 0;
  impl.error.reset();
  impl.epoch_first = impl.next_position = first;
  impl.started = true;
  if (impl.options.shuffle) {
    impl.order.emplace(impl.source.examples(), impl.options.seed,
                       static_cast<std::uint64_t>(epoch));
  }
  if (impl.thread.running()) {
    impl.cancel.store(false);
    impl.busy.store(1);
    impl.orders.fetch_add(1);
    impl.orders.notify_one();
  }
  return {};
}

Result<Batch> BatchFeeder::next() {
  Impl& impl = *impl_;
  if (!impl.started) {
    return Error{ErrorCode::internal, "no epoch of the feeder is running"};
  }
  const std::int64_t left = impl.source.examples() - impl.next_position;
  if (left == 0) return Batch{};
  if (!impl.layout.borrows_all()) return impl.take();
  const Batch batch =
      impl.borrow(impl.next_position, std::min(left, impl.options.batch));
  PLIMSOLL_RETURN_IF_ERROR(impl.check_classes(batch));
  impl.next_position += batch.examples;
  return batch;
}

void BatchFeeder::release(int slot) noexcept {
  Impl& impl = *impl_;
  if (slot < 0 || slot >= impl.layout.slots) return;
  auto& state = impl.slots[static_cast<std::size_t>(slot)].state;
  if (state.load(std::memory_order_relaxed) != kTaken) return;
  ++impl.released;
  state.store(kFree);
  // Waking is a system call: a sleeping reader gets half a ring of work, or is
  // woken by take() when nothing is left.
  const std::uint64_t full =
      impl.filled.load(std::memory_order_relaxed) - impl.released;
  if (full <= impl.slots.size() / 2 && impl.asleep.load() != 0) {
    impl.wake_reader();
  }
}

void BatchFeeder::stop() noexcept {
  Impl& impl = *impl_;
  impl.started = false;
  if (!impl.thread.running()) {
    impl.quit.store(true);
    return;
  }
  impl.cancel_epoch();
  impl.quit.store(true);
  impl.orders.fetch_add(1);
  impl.orders.notify_one();
  impl.thread.join();
}

}  // namespace plimsoll::data
