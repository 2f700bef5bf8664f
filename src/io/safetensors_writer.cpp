#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/units.h"
#include "io/safetensors.h"
#include "io/safetensors_header.h"

namespace plimsoll::io {
namespace {

Status write_tensor(ReplacedFile& file, const NamedTensor& tensor,
                    std::int64_t bytes) {
  if (!tensor.piece) {
    return file.write({static_cast<const std::byte*>(tensor.data),
                       static_cast<std::size_t>(bytes)});
  }
  for (std::int64_t offset = 0; offset < bytes;) {
    PLIMSOLL_ASSIGN(const auto piece, tensor.piece(offset, bytes - offset));
    PLIMSOLL_RETURN_IF_ERROR(file.write(piece));
    offset += std::ssize(piece);
  }
  return {};
}

}  // namespace

Status write_safetensors(const std::string& path,
                         std::span<const NamedTensor> tensors,
                         const TextMap& metadata) {
  // Wide types first: then every tensor lies aligned to its own type.
  std::vector<const NamedTensor*> ordered;
  for (const NamedTensor& tensor : tensors) ordered.push_back(&tensor);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const NamedTensor* a, const NamedTensor* b) {
                     return size_of(a->dtype) > size_of(b->dtype);
                   });

  SafetensorsHeader header{{}, metadata};
  std::int64_t offset = 0;
  for (const NamedTensor* tensor : ordered) {
    PLIMSOLL_ASSIGN(const std::int64_t count,
                    tensor->shape.checked_elements(1));
    const std::int64_t bytes = count * size_of(tensor->dtype);
    if (!tensor->shape.is_fixed() ||
        (bytes > 0 && tensor->data == nullptr && !tensor->piece)) {
      return Error{
          ErrorCode::bad_input,
          fmt::format("{}: tensor '{}' of {} has no {}", path, tensor->name,
                      tensor->shape.to_string(),
                      tensor->shape.is_fixed() ? "data" : "fixed shape")};
    }
    header.entries.push_back(
        {tensor->name, tensor->dtype, tensor->shape, offset, bytes});
    offset += bytes;
  }
  auto json = format_safetensors_header(header);
  if (!json) {
    return Error{json.error().code,
                 fmt::format("{}: {}", path, json.error().message)};
  }
  // Spaces after the JSON align the data.
  const auto length = round_up(static_cast<std::int64_t>(json->size()), 8);
  json->resize(static_cast<std::size_t>(length), ' ');
  if (length > kMostSafetensorsHeaderBytes) {
    return Error{
        ErrorCode::bad_input,
        fmt::format("{}: its header of {} bytes passes the limit of {}", path,
                    length, kMostSafetensorsHeaderBytes)};
  }
  std::array<unsigned char, 8> start{};
  for (std::size_t i = 0; i < start.size(); ++i) {
    start[i] = static_cast<unsigned char>(length >> (8 * i));
  }

  PLIMSOLL_ASSIGN(ReplacedFile file, ReplacedFile::create(path));
  PLIMSOLL_RETURN_IF_ERROR(file.write(std::as_bytes(std::span(start))));
  PLIMSOLL_RETURN_IF_ERROR(file.write(std::as_bytes(std::span(*json))));
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    PLIMSOLL_RETURN_IF_ERROR(
        write_tensor(file, *ordered[i], header.entries[i].bytes));
  }
  return file.commit();
}

}  // namespace plimsoll::io
