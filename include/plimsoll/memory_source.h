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

  // Addresses without memory behind them, for memory that comes and goes; a
  // multiple of the granularity. Null when the system refuses, or where a
  // source cannot: eager values then have no memory, all else works.
  virtual void* reserve(std::int64_t /*bytes*/) noexcept { return nullptr; }
  // All of a reserved range, after its memory has been decommitted.
  virtual void unreserve(void* /*start*/, std::int64_t /*bytes*/) noexcept {}
  // Memory behind whole granules of a reserved range, which had none; what it
  // holds is undefined. False: nothing has changed.
  virtual bool commit(void* /*start*/, std::int64_t /*bytes*/) noexcept {
    return false;
  }
  // Takes it away again, in any granules. Nobody may be using it any more.
  virtual void decommit(void* /*start*/, std::int64_t /*bytes*/) noexcept {}

  // Counted at the system's own call, apart from any ledger.
  virtual std::int64_t mapped_bytes() const noexcept = 0;
  virtual std::int64_t peak_mapped_bytes() const noexcept = 0;
};

}  // namespace plimsoll
