// Where arenas get their memory: the one public way to bring your own.
#pragma once

#include <cstdint>

namespace plimsoll {

class MemorySource {
 public:
  virtual ~MemorySource() = default;

  // Bytes are handed out in multiples of this.
  virtual std::int64_t granularity_bytes() const = 0;
  // A fresh, zeroed, populated range (a multiple of the granularity), or null
  // when the system refuses.
  virtual void* map(std::int64_t bytes) noexcept = 0;
  virtual void unmap(void* start, std::int64_t bytes) noexcept = 0;
  // How much of the mapping at `start` stays when all after its first `bytes`
  // is unmapped: more where memory goes back in larger pieces.
  virtual std::int64_t kept_bytes(const void* /*start*/,
                                  std::int64_t bytes) const noexcept {
    return bytes;
  }

  // Counted at the system's own call, apart from any ledger.
  virtual std::int64_t mapped_bytes() const noexcept = 0;
  virtual std::int64_t peak_mapped_bytes() const noexcept = 0;
};

}  // namespace plimsoll
