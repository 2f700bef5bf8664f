// Whose turn each slot of a ring is: filled by readers in any order, taken by
// one consumer in order. Waiting spins briefly, then sleeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace plimsoll::data {

class SlotRing {
 public:
  enum class Filled { ready, failed };

  explicit SlotRing(int slots);

  int size() const { return static_cast<int>(slots_.size()); }
  int slot_of(std::uint64_t sequence) const {
    return static_cast<int>(sequence % slots_.size());
  }

  // All slots free, numbered from 0 on again. Nobody may be inside.
  void reset();

  // For readers. False: cancelled.
  bool wait_until_free(std::uint64_t sequence);
  void publish(std::uint64_t sequence, Filled how);

  // For the consumer.
  bool is_filled(std::uint64_t sequence) const;
  // Whether a reader could begin `sequence` now.
  bool is_free(std::uint64_t sequence) const;
  void wake_sleeping_readers() noexcept;
  // Whether the consumer still holds the slot that `sequence` needs.
  bool is_held(std::uint64_t sequence) const;
  Filled wait_until_filled(std::uint64_t sequence);
  void hold(std::uint64_t sequence);
  // Gives the held slot back; does nothing where it is not held.
  void release(int slot) noexcept;

  // Makes every waiting reader return.
  void cancel() noexcept;

 private:
  // Which sequence has the slot, and in which state: (sequence << 2) | state.
  // Lines of their own, or the two sides would slow each other.
  struct alignas(64) Slot {
    std::atomic<std::uint32_t> turn{0};
  };
  static std::uint32_t turn_of(std::uint64_t sequence, std::uint32_t state) {
    return static_cast<std::uint32_t>(sequence << 2) | state;
  }
  static bool is_filled(std::uint64_t sequence, std::uint32_t turn);
  const Slot& at(std::uint64_t sequence) const {
    return slots_[sequence % slots_.size()];
  }
  Slot& at(std::uint64_t sequence) { return slots_[sequence % slots_.size()]; }
  void wake_readers() noexcept;

  std::vector<Slot> slots_;
  alignas(64) std::atomic<std::uint32_t> filled_{0};
  alignas(64) std::uint32_t released_ = 0;            // the consumer's own
  alignas(64) std::atomic<std::uint32_t> asleep_{0};  // readers
  std::atomic<std::uint32_t> events_{0};
  std::atomic<bool> cancelled_{false};
  alignas(64) std::atomic<bool> consumer_asleep_{false};
};

}  // namespace plimsoll::data
