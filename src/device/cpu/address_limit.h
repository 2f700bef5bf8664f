// For tests: the kernel refuses mappings of this process past some room.
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace plimsoll {

// While it stands, RLIMIT_AS leaves that many bytes to map.
class AddressLimit {
 public:
  explicit AddressLimit(std::int64_t room_bytes) noexcept;
  ~AddressLimit();
  AddressLimit(const AddressLimit&) = delete;
  AddressLimit& operator=(const AddressLimit&) = delete;

 private:
  rlimit before_{};
  bool set_ = false;
};

}  // namespace plimsoll
