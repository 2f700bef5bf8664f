// safetensors: named tensors with string metadata in one file; the format of
// checkpoints. Tensors stream between their memory and the file: no copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "base/shape.h"
#include "io/file.h"

namespace plimsoll::io {

using TextMap = std::map<std::string, std::string>;

inline constexpr std::int64_t kMostSafetensorsHeaderBytes = 100'000'000;

// At least one and at most `bytes` bytes of a tensor from `offset` on, valid
// until the next call.
using TensorPiece = std::function<Result<std::span<const std::byte>>(
    std::int64_t offset, std::int64_t bytes)>;

struct NamedTensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;  // fixed
  const void* data = nullptr;
  TensorPiece piece = {};  // in place of `data`: what does not lie in memory
};

// The file appears under `path` whole, synced, or not at all.
Status write_safetensors(const std::string& path,
                         std::span<const NamedTensor> tensors,
                         const TextMap& metadata);

class SafetensorsFile {
 public:
  struct Entry {
    std::string name;
    DType dtype = DType::f32;
    Shape shape;
    std::int64_t offset = 0;  // in the file
    std::int64_t bytes = 0;
  };

  // Checks the whole header: types, shapes, ranges, no overlap and no hole.
  static Result<SafetensorsFile> open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::vector<Entry>& entries() const { return entries_; }  // as they lie
  const TextMap& metadata() const { return metadata_; }
  const Entry* find(std::string_view name) const;

  // `out` must have exactly the entry's bytes.
  Status read(const Entry& entry, std::span<std::byte> out) const;
  // A part of it, from `offset` on.
  Status read_piece(const Entry& entry, std::int64_t offset,
                    std::span<std::byte> out) const;

 private:
  SafetensorsFile(InputFile file, std::vector<Entry> entries, TextMap metadata);

  InputFile file_;
  std::vector<Entry> entries_;
  TextMap metadata_;
};

}  // namespace plimsoll::io
