#include "data/slot_ring.h"

#include "data/spin_wait.h"

namespace plimsoll::data {
namespace {

constexpr std::uint32_t kFree = 0;
constexpr std::uint32_t kReady = 1;
constexpr std::uint32_t kFailed = 2;
constexpr std::uint32_t kHeld = 3;

}  // namespace

SlotRing::SlotRing(int slots) : slots_(static_cast<std::size_t>(slots)) {
  reset();
}

void SlotRing::reset() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].turn.store(turn_of(i, kFree));
  }
  filled_.store(0);
  released_ = 0;
  cancelled_.store(false);
}

bool SlotRing::is_held(std::uint64_t sequence) const {
  return (at(sequence).turn.load(std::memory_order_relaxed) & 3) == kHeld;
}

bool SlotRing::wait_until_free(std::uint64_t sequence) {
  const auto& turn = at(sequence).turn;
  const std::uint32_t free_turn = turn_of(sequence, kFree);
  for (bool changed = true; changed;) {
    if (cancelled_.load(std::memory_order_relaxed)) return false;
    const std::uint32_t now = turn.load(std::memory_order_acquire);
    if (now == free_turn) return true;
    changed = spin_while(turn, now);
  }
  for (;;) {
    const std::uint32_t seen = events_.load();
    // In this order on both sides (say, then look), one of the two sees the
    // other: no wake-up is lost.
    asleep_.fetch_add(1);
    const bool stop = cancelled_.load();
    const bool free = turn.load() == free_turn;
    if (!stop && !free) sleep_while(events_, seen);
    asleep_.fetch_sub(1);
    if (stop) return false;
    if (free) return true;
  }
}

void SlotRing::publish(std::uint64_t sequence, Filled how) {
  filled_.fetch_add(1, std::memory_order_relaxed);
  Slot& slot = at(sequence);
  slot.turn.store(turn_of(sequence, how == Filled::ready ? kReady : kFailed));
  // Waking is a system call, and some reader nearly always sleeps.
  if (consumer_asleep_.load()) wake_one(slot.turn);
}

bool SlotRing::is_filled(std::uint64_t sequence, std::uint32_t turn) {
  return turn == turn_of(sequence, kReady) ||
         turn == turn_of(sequence, kFailed);
}

bool SlotRing::is_filled(std::uint64_t sequence) const {
  return is_filled(sequence, at(sequence).turn.load(std::memory_order_acquire));
}

bool SlotRing::is_free(std::uint64_t sequence) const {
  return at(sequence).turn.load(std::memory_order_acquire) ==
         turn_of(sequence, kFree);
}

void SlotRing::wake_sleeping_readers() noexcept {
  if (asleep_.load() != 0) wake_readers();
}

SlotRing::Filled SlotRing::wait_until_filled(std::uint64_t sequence) {
  Slot& slot = at(sequence);
  std::uint32_t turn = slot.turn.load(std::memory_order_acquire);
  if (!is_filled(sequence, turn)) wake_sleeping_readers();
  while (!is_filled(sequence, turn)) {
    if (!spin_while(slot.turn, turn)) {
      // As above: said before the last look, which sleep_while() takes.
      consumer_asleep_.store(true);
      sleep_while(slot.turn, turn);
      consumer_asleep_.store(false, std::memory_order_relaxed);
    }
    turn = slot.turn.load(std::memory_order_acquire);
  }
  return turn == turn_of(sequence, kReady) ? Filled::ready : Filled::failed;
}

void SlotRing::hold(std::uint64_t sequence) {
  at(sequence).turn.store(turn_of(sequence, kHeld), std::memory_order_relaxed);
}

void SlotRing::release(int slot) noexcept {
  auto& turn = slots_[static_cast<std::size_t>(slot)].turn;
  const std::uint32_t held = turn.load(std::memory_order_relaxed);
  if ((held & 3) != kHeld) return;
  const auto next = static_cast<std::uint32_t>(slots_.size()) << 2;
  turn.store((held - kHeld) + next);
  ++released_;
  if (asleep_.load() == 0) return;
  // Waking is a system call: sleeping readers get half a ring of work, or are
  // woken by the consumer when nothing is left.
  const std::uint32_t full =
      filled_.load(std::memory_order_relaxed) - released_;
  if (full <= slots_.size() / 2) wake_readers();
}

void SlotRing::cancel() noexcept {
  cancelled_.store(true);
  wake_readers();
}

void SlotRing::wake_readers() noexcept {
  events_.fetch_add(1);
  wake_all(events_);
}

}  // namespace plimsoll::data
