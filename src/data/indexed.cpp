#include "data/indexed.h"

namespace plimsoll::data {

Status Indexed::read(std::int64_t number, Element& out,
                     std::span<std::byte* const> buffers,
                     const ReadContext& context) const {
  PLIMSOLL_RETURN_IF_ERROR(gather({&number, 1}, buffers, context));
  const ElementSpec& fields = spec();
  out.index = number;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    out.values[i] = {buffers[i], fields[i].most_bytes, fields[i].shape};
  }
  return {};
}

}  // namespace plimsoll::data
