#include "tensor/storage.h"

#include <fmt/core.h>

#include <limits>
#include <utility>

#include "base/units.h"

namespace plimsoll::tensor {

Result<std::shared_ptr<Storage>> Storage::allocate(MemorySource& source,
                                                   Ledger& ledger,
                                                   Holding holding) {
  const std::int64_t granule = source.granularity_bytes();
  if (holding.bytes < 0 ||
      holding.bytes > std::numeric_limits<std::int64_t>::max() - granule) {
    return Error{
        ErrorCode::bad_input,
        fmt::format("\"{}\" asks for {} bytes", holding.owner, holding.bytes)};
  }
  holding.bytes = round_up(holding.bytes, granule);
  PLIMSOLL_ASSIGN(Arena arena, Arena::commit(source, ledger, {&holding, 1}));
  const std::shared_ptr<Storage> storage(new Storage());
  storage->arena_ = std::move(arena);
  storage->data_ = storage->arena_.data();
  storage->bytes_ = storage->arena_.bytes();
  return storage;
}

std::shared_ptr<Storage> Storage::borrow(std::shared_ptr<const void> owner,
                                         std::byte* data, std::int64_t bytes) {
  std::shared_ptr<Storage> storage(new Storage());
  storage->owner_ = std::move(owner);
  storage->data_ = data;
  storage->bytes_ = bytes;
  return storage;
}

}  // namespace plimsoll::tensor
