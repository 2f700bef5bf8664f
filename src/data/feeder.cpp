#include "data/feeder.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <limits>
#include <optional>
#include <utility>

#include "data/reader_thread.h"
#include "data/slot_filler.h"
#include "data/slot_ring.h"
#include "data/spin_wait.h"

namespace plimsoll::data {
namespace {

Error stopped() {
  return {ErrorCode::cancelled, "the feeder has been stopped"};
}

// What a slot holds beside its bytes. Belongs to the reader that fills it,
// then to the consumer.
struct Content {
  Element element;
  std::int64_t examples = 0;
  State stream;  // behind the batch
  std::optional<Error> error;
};

}  // namespace

struct BatchFeeder::Impl {
  Impl(const Input& from, const FeederOptions& how, const FeederLayout& where,
       std::byte* memory)
      : input(from),
        options(how),
        layout(where),
        filler(input, options, layout, memory),
        ring(std::max(1, where.slots)),
        contents(static_cast<std::size_t>(std::max(1, where.slots))),
        readers(static_cast<std::size_t>(where.readers)) {}

  bool has_readers() const { return !readers.empty(); }
  std::int64_t epoch_end() const;
  std::int64_t first_of(std::uint64_t sequence) const {
    return start.first + static_cast<std::int64_t>(sequence) * options.batch;
  }
  // Whether there is more behind it: a stream's end, or its error, ends the
  // epoch.
  bool fill(int reader, std::uint64_t sequence);
  void fill_content(int reader, std::uint64_t sequence, Content& content);
  void read_epoch(int reader);
  void read_epochs(int reader);
  void cancel_epoch() noexcept;
  Status start_stream();
  void help();
  Result<Batch> take();

  const Input& input;
  const FeederOptions options;
  const FeederLayout layout;
  const SlotFiller filler;
  SlotRing ring;
  std::vector<Content> contents;  // by slot
  std::deque<ReaderThread> readers;

  // Set while no epoch runs; read by all.
  Position start;
  std::int64_t end = 0;

  // The consumer's own.
  Position now;
  std::uint64_t taken = 0;
  bool over = true;

  alignas(64) std::atomic<std::uint64_t> tickets{0};
  alignas(64) std::atomic<std::uint32_t> orders{0};  // epochs asked for
  std::atomic<std::uint32_t> busy{0};                // readers in an epoch
  std::atomic<bool> quit{false};
};

std::int64_t BatchFeeder::Impl::epoch_end() const {
  if (!input.set) return std::numeric_limits<std::int64_t>::max();
  const std::int64_t size = input.set->size();
  if (options.remainder) return size;
  return start.first + (size - start.first) / options.batch * options.batch;
}

void BatchFeeder::Impl::fill_content(int reader, std::uint64_t sequence,
                                     Content& content) {
  const std::int64_t first = first_of(sequence);
  content.error.reset();
  content.examples = std::min(options.batch, end - first);
  const int slot = ring.slot_of(sequence);
  filler.describe(slot, first, content.examples, content.element);
  if (input.set) {
    auto status = filler.fill_from_set(reader, start.epoch, first,
                                       content.examples, content.element);
    if (!status) content.error = std::move(status).error();
    return;
  }
  auto count = filler.fill_from_stream(content.element);
  if (!count) {
    content.error = std::move(count).error();
    return;
  }
  content.examples = *count;
  if (*count < options.batch) {
    if (!options.remainder) content.examples = 0;
    filler.describe(slot, first, content.examples, content.element);
  }
  content.stream.clear();
  input.stream->save(content.stream);
}

bool BatchFeeder::Impl::fill(int reader, std::uint64_t sequence) {
  Content& content = contents[static_cast<std::size_t>(ring.slot_of(sequence))];
  fill_content(reader, sequence, content);
  // Looked at before it is the consumer's.
  const bool last =
      !input.set && (content.error || content.examples < options.batch);
  ring.publish(sequence, content.error ? SlotRing::Filled::failed
                                       : SlotRing::Filled::ready);
  return !last;
}

void BatchFeeder::Impl::read_epoch(int number) {
  for (;;) {
    const std::uint64_t sequence = tickets.fetch_add(1);
    if (first_of(sequence) >= end) return;
    if (!ring.wait_until_free(sequence)) return;
    if (!fill(number, sequence)) return;
  }
}

void BatchFeeder::Impl::read_epochs(int number) {
  std::uint32_t seen = 0;
  for (;;) {
    sleep_while(orders, seen);
    seen = orders.load();
    if (quit.load()) return;
    read_epoch(number);
    if (busy.fetch_sub(1) == 1) wake_all(busy);
  }
}

void BatchFeeder::Impl::cancel_epoch() noexcept {
  if (!has_readers()) return;
  ring.cancel();
  for (std::uint32_t left = busy.load(); left != 0; left = busy.load()) {
    wait_while(busy, left);
  }
}

// A stream goes on where its state says, or counts the elements again.
Status BatchFeeder::Impl::start_stream() {
  if (!start.stream.numbers().empty()) {
    StateReader state(start.stream.numbers());
    PLIMSOLL_RETURN_IF_ERROR(input.stream->restore(start.epoch, state));
    if (state.at_end()) return {};
    return Error{ErrorCode::bad_input,
                 "the saved position has too many numbers: it belongs to "
                 "another pipeline"};
  }
  PLIMSOLL_RETURN_IF_ERROR(input.stream->start(start.epoch));
  Element element;
  for (std::int64_t i = 0; i < start.first; ++i) {
    PLIMSOLL_ASSIGN(const bool more, input.stream->next(element));
    if (!more) break;
  }
  return {};
}

// Instead of waiting for its batch the consumer fills others, as one more
// reader: threads that wait for each other leave cores idle. Meanwhile it gives
// no slot back, so the readers must have enough of them.
void BatchFeeder::Impl::help() {
  if (layout.slots < layout.readers + kSlotsToHelp) return;
  while (!ring.is_filled(taken)) {
    ring.wake_sleeping_readers();
    std::uint64_t next = tickets.load();
    if (first_of(next) >= end || !ring.is_free(next)) return;
    if (tickets.compare_exchange_strong(next, next + 1)) {
      fill(static_cast<int>(readers.size()), next);
    }
  }
}

Result<Batch> BatchFeeder::Impl::take() {
  if (ring.is_held(taken)) {
    return Error{ErrorCode::internal,
                 fmt::format("batch slot {} is asked for before it was "
                             "released: the ring has {} slots",
                             ring.slot_of(taken), ring.size())};
  }
  if (!has_readers()) {
    fill(0, taken);
  } else if (input.set) {
    help();
  }
  Content& content = contents[static_cast<std::size_t>(ring.slot_of(taken))];
  if (ring.wait_until_filled(taken) == SlotRing::Filled::failed) {
    over = true;
    Error error = *std::exchange(content.error, std::nullopt);
    // The job was well stated; what it reads is not.
    if (error.code == ErrorCode::bad_input) error.code = ErrorCode::io;
    return error;
  }
  if (content.examples == 0) {
    over = true;
    return Batch{};
  }
  // A stream's reader goes no further than a partial batch.
  if (!input.set && content.examples < options.batch) over = true;
  ring.hold(taken);
  Batch batch{ring.slot_of(taken), &content.element, content.examples,
              now.first};
  if (input.stream) now.stream = content.stream;
  ++taken;
  return batch;
}

BatchFeeder::BatchFeeder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

BatchFeeder::~BatchFeeder() { stop(); }

Result<std::unique_ptr<BatchFeeder>> BatchFeeder::create(
    const Input& input, const FeederOptions& options,
    const FeederLayout& layout, std::span<std::byte> memory) {
  PLIMSOLL_ASSIGN(const FeederLayout right, feeder_layout(input, options));
  if (layout != right ||
      static_cast<std::int64_t>(memory.size()) < layout.total_bytes ||
      reinterpret_cast<std::uintptr_t>(memory.data()) % 64 != 0) {
    return Error{ErrorCode::internal,
                 fmt::format("the feeder got {} bytes of memory for a layout "
                             "of {}, aligned to 64, or another job's layout",
                             memory.size(), layout.total_bytes)};
  }
  std::unique_ptr<BatchFeeder> feeder(new BatchFeeder(
      std::make_unique<Impl>(input, options, layout, memory.data())));
  if (input.stream) {
    Placer placer(memory.data() + layout.stream_offset);
    input.stream->place(placer);
  }
  struct Context {
    Impl* impl;
    int number;
  };
  for (int i = 0; i < layout.readers; ++i) {
    const auto body = [](void* given) -> void* {
      const std::unique_ptr<Context> context(static_cast<Context*>(given));
      context->impl->read_epochs(context->number);
      return nullptr;
    };
    auto context = std::make_unique<Context>(Context{feeder->impl_.get(), i});
    auto& reader = feeder->impl_->readers[static_cast<std::size_t>(i)];
    PLIMSOLL_RETURN_IF_ERROR(reader.start(body, context.get()));
    static_cast<void>(context.release());
  }
  return feeder;
}

Status BatchFeeder::start(const Position& position) {
  Impl& impl = *impl_;
  const std::int64_t size = impl.input.size();
  if (position.first < 0 || (size >= 0 && position.first > size)) {
    return Error{ErrorCode::bad_input,
                 fmt::format("position {} is outside an epoch of {} examples",
                             position.first, size)};
  }
  if (impl.quit.load()) {
    return stopped();
  }
  impl.cancel_epoch();
  impl.ring.reset();
  impl.tickets.store(0);
  impl.taken = 0;
  impl.start = impl.now = position;
  impl.end = impl.epoch_end();
  impl.over = false;
  if (impl.input.stream) PLIMSOLL_RETURN_IF_ERROR(impl.start_stream());
  if (impl.has_readers()) {
    impl.busy.store(static_cast<std::uint32_t>(impl.readers.size()));
    impl.orders.fetch_add(1);
    wake_all(impl.orders);
  }
  return {};
}

Result<Batch> BatchFeeder::next() {
  Impl& impl = *impl_;
  if (impl.quit.load(std::memory_order_relaxed)) return stopped();
  if (impl.over) {
    if (impl.end > 0) return Batch{};
    return Error{ErrorCode::internal, "no epoch of the feeder is running"};
  }
  if (impl.now.first >= impl.end) return Batch{};
  if (!impl.layout.borrows_all()) {
    PLIMSOLL_ASSIGN(const Batch batch, impl.take());
    impl.now.first += batch.examples;
    return batch;
  }
  const std::int64_t count =
      std::min(impl.end - impl.now.first, impl.options.batch);
  Element& element = impl.contents[0].element;
  impl.filler.describe(0, impl.now.first, count, element);
  auto checked =
      impl.filler.check_limits(impl.now.epoch, impl.now.first, count, element);
  if (!checked) {
    impl.over = true;
    return std::move(checked).error();
  }
  const Batch batch{-1, &element, count, impl.now.first};
  impl.now.first += count;
  return batch;
}

void BatchFeeder::release(int slot) noexcept {
  if (slot < 0 || slot >= impl_->layout.slots) return;
  impl_->ring.release(slot);
}

const Position& BatchFeeder::position() const { return impl_->now; }

void BatchFeeder::stop() noexcept {
  Impl& impl = *impl_;
  if (impl.quit.load()) return;
  // First, or a reader that has not begun its epoch yet would never end it.
  impl.cancel_epoch();
  impl.quit.store(true);
  impl.orders.fetch_add(1);
  wake_all(impl.orders);
  for (ReaderThread& reader : impl.readers) reader.join();
  // Maps under way write to memory that may go when the feeder has gone.
  if (impl.input.workers) impl.input.workers->stop();
}

}  // namespace plimsoll::data
