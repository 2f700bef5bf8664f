#include "data/streams/map_stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <thread>
#include <utility>

#include "base/units.h"
#include "data/spin_wait.h"
#include "data/streams/element_slots.h"
#include "data/streams/error_skipping.h"
#include "data/streams/map_chain.h"
#include "data/streams/stage.h"

namespace plimsoll::data {
namespace {

constexpr std::int64_t kMostInChunk = 256;
// A bit for each chunk of which the position knows whether it was given.
constexpr std::uint64_t kMostApart = 62;
constexpr int kMostDepth = 1024;

enum ChunkState : std::uint32_t { kFree, kQueued, kRunning, kDone };

struct Failure {
  std::int64_t item = 0;
  std::string map;  // empty: the input's own error
  Error error;
};

struct alignas(64) Chunk {
  std::atomic<std::uint32_t> state{kFree};
  std::uint64_t sequence = 0;
  std::int64_t items = 0;
  std::int64_t given = 0;
  State before;                   // the input's, before the first item
  std::vector<Failure> failures;  // in the items' order once done
};

class MapStream final : public Stage {
 public:
  MapStream(std::unique_ptr<Stream> input, MapChain chain, Workers& workers,
            const MapStreamOptions& options)
      : Stage(std::move(input)),
        chain_(std::move(chain)),
        workers_(workers),
        options_(options),
        raw_(input_->spec()),
        made_(chain_.spec(), chain_.written()),
        chunks_(static_cast<std::size_t>(options.depth)),
        leniency_(options.policy) {
    per_chunk_ = std::clamp<std::int64_t>(
        options.chunk_bytes / (raw_.slot_bytes() + made_.slot_bytes()), 1,
        kMostInChunk);
  }
  ~MapStream() override { quiesce(); }

  std::string name() const override { return "map"; }
  const ElementSpec& spec() const override { return chain_.spec(); }
  std::int64_t count() const override { return input_->count(); }
  Status check() const {
    PLIMSOLL_RETURN_IF_ERROR(raw_.check(name(), slots()));
    return made_.check(name(), slots());
  }

  void place(Placer& placer) override {
    quiesce();  // placed anew, nobody may still write to the old memory
    input_->place(placer);
    raw_.place(placer, name(), "elements on their way", slots());
    made_.place(placer, name(), "elements made", slots());
    scratch_bytes_ = round_up(chain_.scratch_bytes(), 64);
    scratch_ =
        placer.take(name(), "scratch", scratch_bytes_ * workers_.lanes());
  }

  Status start(std::int64_t epoch) override {
    begin(epoch);
    return input_->start(epoch);
  }

  Result<bool> next(Element& out) override;
  void save(State& state) const override;
  Status restore(std::int64_t epoch, StateReader& state) override;

 private:
  std::int64_t slots() const { return options_.depth * per_chunk_; }
  std::int64_t slot(const Chunk& chunk, std::int64_t item) const {
    return (&chunk - chunks_.data()) * per_chunk_ + item;
  }
  bool was_given(std::uint64_t sequence) const {
    return sequence - oldest_ < 64 && (given_mask_ >> (sequence - oldest_) & 1);
  }

  static void run(void* self, int item, int lane) {
    auto& stream = *static_cast<MapStream*>(self);
    stream.run_chunk(stream.chunks_[static_cast<std::size_t>(item)], lane);
    // The last that is touched: the stream may be gone afterwards.
    stream.outstanding_.fetch_sub(1, std::memory_order_release);
  }

  Status restore_unordered(StateReader& state);
  void begin(std::int64_t epoch);
  void quiesce();
  bool run_chunk(Chunk& chunk, int lane);
  void fill_free_chunks();
  void fill(Chunk& chunk);
  Chunk* done_chunk();
  Chunk* queued_chunk();
  Chunk* await_chunk();
  void release(Chunk& chunk);
  Error error_of(const Chunk& chunk, const Failure& failure) const;

  MapChain chain_;
  Workers& workers_;
  MapStreamOptions options_;
  ElementSlots raw_;
  ElementSlots made_;
  std::byte* scratch_ = nullptr;
  std::int64_t scratch_bytes_ = 0;  // of a lane
  std::int64_t per_chunk_ = 1;
  std::vector<Chunk> chunks_;
  Leniency leniency_;
  Element element_;
  std::int64_t epoch_ = 0;
  bool ended_ = false;            // the input
  std::uint64_t filled_ = 0;      // the next chunk's sequence
  std::uint64_t oldest_ = 0;      // the first not wholly given
  std::uint64_t given_mask_ = 0;  // from oldest_ on
  Chunk* current_ = nullptr;      // being given
  // Restored: this one comes first, and its first items were given.
  std::uint64_t resumed_ = 0;
  std::int64_t resumed_given_ = 0;
  alignas(64) std::atomic<std::uint32_t> finished_{0};
  alignas(64) std::atomic<std::uint32_t> outstanding_{0};  // tasks handed over
};

void MapStream::begin(std::int64_t epoch) {
  quiesce();
  for (Chunk& chunk : chunks_) chunk.state.store(kFree);
  epoch_ = epoch;
  ended_ = false;
  filled_ = oldest_ = given_mask_ = resumed_ = 0;
  resumed_given_ = 0;
  current_ = nullptr;
}

// Afterwards no thread knows this stream.
void MapStream::quiesce() {
  const auto taken_back = static_cast<std::uint32_t>(workers_.forget(this));
  outstanding_.fetch_sub(taken_back);
  for (Chunk& chunk : chunks_) {
    for (;;) {
      const std::uint32_t seen = finished_.load();
      if (chunk.state.load(std::memory_order_acquire) != kRunning) break;
      wait_while(finished_, seen);
    }
  }
  while (outstanding_.load(std::memory_order_acquire) > 0) {
    std::this_thread::yield();
  }
}

bool MapStream::run_chunk(Chunk& chunk, int lane) {
  // Whoever waits for a chunk may have taken it before a thread did.
  std::uint32_t queued = kQueued;
  if (!chunk.state.compare_exchange_strong(queued, kRunning)) return false;
  Element element;
  Element made;
  std::array<std::byte*, kMostFields> outputs{};
  const std::span<std::byte> scratch{scratch_ + lane * scratch_bytes_,
                                     static_cast<std::size_t>(scratch_bytes_)};
  const std::size_t from_input = chunk.failures.size();
  std::size_t broken = 0;  // items that never came
  for (std::int64_t item = 0; item < chunk.items; ++item) {
    if (broken < from_input && chunk.failures[broken].item == item) {
      ++broken;
      continue;
    }
    const std::int64_t at = slot(chunk, item);
    raw_.get(at, element);
    for (std::size_t i = 0; i < spec().size(); ++i) {
      outputs[i] = made_.field(at, i);
    }
    MapChain::Failure failure;
    if (chain_.apply(element, made, outputs, scratch, options_.seed, epoch_,
                     failure)) {
      made_.put_view(at, made);
    } else {
      chunk.failures.push_back(
          {item, std::move(failure.map), std::move(failure.error)});
    }
  }
  std::sort(chunk.failures.begin(), chunk.failures.end(),
            [](const Failure& a, const Failure& b) { return a.item < b.item; });
  chunk.state.store(kDone, std::memory_order_release);
  finished_.fetch_add(1);
  wake_all(finished_);
  return true;
}

void MapStream::fill(Chunk& chunk) {
  chunk.sequence = filled_++;
  chunk.items = chunk.given = 0;
  chunk.failures.clear();
  chunk.before.clear();
  input_->save(chunk.before);
  while (chunk.items < per_chunk_) {
    auto got = input_->next(element_);
    if (got && !*got) {
      ended_ = true;
      break;
    }
    auto kept = got ? raw_.put(slot(chunk, chunk.items), element_) : Status();
    if (!got || !kept) {
      chunk.failures.push_back(
          {chunk.items,
           {},
           got ? std::move(kept).error() : std::move(got).error()});
    }
    ++chunk.items;
  }
  if (chunk.sequence == resumed_) {
    chunk.given = std::min(resumed_given_, chunk.items);
  }
}

void MapStream::fill_free_chunks() {
  for (Chunk& chunk : chunks_) {
    if (chunk.state.load(std::memory_order_relaxed) != kFree) continue;
    do {
      // Further ahead the position could not be told in a few bits.
      if (ended_ || filled_ - oldest_ >= kMostApart) return;
      fill(chunk);
    } while (was_given(chunk.sequence));
    if (chunk.items == 0) return;
    chunk.state.store(kQueued, std::memory_order_release);
    outstanding_.fetch_add(1);
    workers_.submit(
        {&MapStream::run, this, static_cast<int>(&chunk - chunks_.data())});
  }
}

// A chunk that may be given now and is in the wanted state.
Chunk* MapStream::done_chunk() {
  for (Chunk& chunk : chunks_) {
    const bool next_in_order = options_.ordered || resumed_given_ > 0;
    if (chunk.state.load(std::memory_order_acquire) != kDone) continue;
    const std::uint64_t wanted = options_.ordered ? oldest_ : resumed_;
    if (!next_in_order || chunk.sequence == wanted) return &chunk;
  }
  return nullptr;
}

Chunk* MapStream::queued_chunk() {
  Chunk* first = nullptr;
  for (Chunk& chunk : chunks_) {
    if (chunk.state.load(std::memory_order_relaxed) != kQueued) continue;
    if (first == nullptr || chunk.sequence < first->sequence) first = &chunk;
  }
  return first;
}

// Null at the end of the epoch.
Chunk* MapStream::await_chunk() {
  fill_free_chunks();
  // Of a set that has become shorter.
  if (ended_ && resumed_ >= filled_) resumed_given_ = 0;
  for (;;) {
    const std::uint32_t seen = finished_.load();
    if (Chunk* const done = done_chunk()) return done;
    // Rather than sleep, this thread does what no other has begun.
    if (Chunk* const queued = queued_chunk()) {
      run_chunk(*queued, workers_.threads());
      continue;
    }
    const bool any =
        std::any_of(chunks_.begin(), chunks_.end(), [](const Chunk& chunk) {
          return chunk.state.load(std::memory_order_relaxed) != kFree;
        });
    if (!any) return nullptr;
    wait_while(finished_, seen);
  }
}

void MapStream::release(Chunk& chunk) {
  if (chunk.sequence == resumed_) resumed_given_ = 0;
  given_mask_ |= std::uint64_t{1} << (chunk.sequence - oldest_);
  while ((given_mask_ & 1) != 0) {
    given_mask_ >>= 1;
    ++oldest_;
  }
  chunk.state.store(kFree, std::memory_order_relaxed);
}

Error MapStream::error_of(const Chunk& chunk, const Failure& failure) const {
  if (failure.map.empty()) return failure.error;
  Element element;
  raw_.get(slot(chunk, failure.item), element);
  return at_element(*input_, element, failure.map, failure.error);
}

Result<bool> MapStream::next(Element& out) {
  for (;;) {
    if (current_ != nullptr && current_->given == current_->items) {
      release(*std::exchange(current_, nullptr));
    }
    if (current_ == nullptr) current_ = await_chunk();
    if (current_ == nullptr) return false;
    if (current_->given == current_->items) continue;
    const std::int64_t item = current_->given++;
    const auto failed = std::find_if(
        current_->failures.begin(), current_->failures.end(),
        [item](const Failure& failure) { return failure.item == item; });
    if (failed != current_->failures.end()) {
      Error error = error_of(*current_, *failed);
      if (!failed->map.empty() && leniency_.forgives(error)) continue;
      return error;
    }
    made_.get(slot(*current_, item), out);
    leniency_.element_came();
    return true;
  }
}

void MapStream::save(State& state) const {
  const Chunk* from = nullptr;
  for (const Chunk& chunk : chunks_) {
    const bool used = chunk.state.load(std::memory_order_relaxed) != kFree;
    if (used && chunk.sequence == oldest_) from = &chunk;
  }
  if (from == nullptr) {
    input_->save(state);
  } else {
    state.append(from->before);
  }
  if (options_.ordered) {
    state.push(from == nullptr ? 0 : from->given);
    return;
  }
  if (current_ == nullptr && resumed_given_ == 0) {
    state.push(0);
    state.push(0);
  } else {
    state.push(current_ == nullptr ? resumed_given_ : current_->given);
    const std::uint64_t partly =
        current_ == nullptr ? resumed_ : current_->sequence;
    state.push(static_cast<std::int64_t>(partly - oldest_));
  }
  state.push(static_cast<std::int64_t>(given_mask_));
  state.push(per_chunk_);
}

Status MapStream::restore_unordered(StateReader& state) {
  PLIMSOLL_ASSIGN(resumed_given_, state.next(0, per_chunk_));
  PLIMSOLL_ASSIGN(const std::int64_t resumed,
                  state.next(0, static_cast<std::int64_t>(kMostApart) - 1));
  PLIMSOLL_ASSIGN(const std::int64_t mask,
                  state.next(0, std::int64_t{1} << kMostApart));
  // Which were given is told by chunks: these must be the same.
  PLIMSOLL_RETURN_IF_ERROR(state.next(per_chunk_, per_chunk_));
  resumed_ = static_cast<std::uint64_t>(resumed);
  given_mask_ = static_cast<std::uint64_t>(mask);
  const std::uint64_t before =
      given_mask_ & ((std::uint64_t{1} << resumed) - 1);
  const std::int64_t waiting = resumed - std::popcount(before);
  if ((given_mask_ & 1) != 0 || was_given(resumed_) ||
      waiting >= options_.depth) {
    return Error{ErrorCode::bad_input,
                 fmt::format("map: the saved position has {} chunks on their "
                             "way, but {} are allowed",
                             waiting + 1, options_.depth)};
  }
  return {};
}

Status MapStream::restore(std::int64_t epoch, StateReader& state) {
  begin(epoch);
  PLIMSOLL_RETURN_IF_ERROR(input_->restore(epoch, state));
  if (!options_.ordered) return restore_unordered(state);
  PLIMSOLL_ASSIGN(const std::int64_t given, state.next(0, kMostInChunk));
  for (std::int64_t i = 0; i < given; ++i) {
    // Errors had their turn as well.
    const auto got = input_->next(element_);
    if (got && !*got) break;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Stream>> map_stream(
    std::unique_ptr<Stream> input, std::vector<std::shared_ptr<Map>> maps,
    Workers& workers, const MapStreamOptions& options) {
  if (options.depth < 1 || options.depth > kMostDepth ||
      options.chunk_bytes < 0) {
    return Error{ErrorCode::bad_input,
                 fmt::format("map: {} chunks of {} bytes on their way: 1 to {} "
                             "chunks are right",
                             options.depth, options.chunk_bytes, kMostDepth)};
  }
  PLIMSOLL_ASSIGN(MapChain chain,
                  MapChain::create(input->spec(), std::move(maps)));
  auto stream = std::make_unique<MapStream>(std::move(input), std::move(chain),
                                            workers, options);
  PLIMSOLL_RETURN_IF_ERROR(stream->check());
  return std::unique_ptr<Stream>(std::move(stream));
}

}  // namespace plimsoll::data
