// A block of memory that the ledger knows, or that someone else lends.
#pragma once

#include <cstddef>
#include <memory>

#include "memory/arena.h"

namespace plimsoll::tensor {

class Storage {
 public:
  // At least `holding.bytes`, in whole granules of the source: these are
  // charged and mapped. Source and ledger must outlive it.
  static Result<std::shared_ptr<Storage>> allocate(MemorySource& source,
                                                   Ledger& ledger,
                                                   Holding holding);
  // Bytes of a committed arena: charged there, kept alive by `owner`.
  // Also a user's array: then `owner` keeps that.
  static std::shared_ptr<Storage> borrow(std::shared_ptr<const void> owner,
                                         std::byte* data, std::int64_t bytes);

  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  Storage() = default;
  Arena arena_;
  std::shared_ptr<const void> owner_;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace plimsoll::tensor
