// Waiting for another thread: awake for about as long as going to sleep and
// being woken would cost (10 microseconds), then asleep.
#pragma once

#include <atomic>
#include <cstdint>

namespace plimsoll::data {

// Whether `value` came to differ from `is` while awake.
bool spin_while(const std::atomic<std::uint32_t>& value, std::uint32_t is);

// Returns once `value` differs from `is`: asleep, or first awake.
void sleep_while(const std::atomic<std::uint32_t>& value, std::uint32_t is);
void wait_while(const std::atomic<std::uint32_t>& value, std::uint32_t is);

// After a change of `value`, which must be sequentially consistent; costs
// little where nobody sleeps.
void wake_one(const std::atomic<std::uint32_t>& value) noexcept;
void wake_all(const std::atomic<std::uint32_t>& value) noexcept;

}  // namespace plimsoll::data
