// Arrays in npy files, a field each, read row by row as they are asked for.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "data/indexed.h"
#include "io/npy.h"

namespace plimsoll::data {

// What becomes of a file's pages in the system's cache once they are read.
enum class PageCache {
  automatic,  // dropped where the file is larger than kKeptFileBytes
  keep,
  drop,
};
inline constexpr std::int64_t kKeptFileBytes = std::int64_t{64} << 20;

struct NpyField {
  std::string name;  // "features"
  std::string path;
};

class NpySet final : public Indexed {
 public:
  // All headers are checked; no data is read.
  static Result<std::unique_ptr<NpySet>> open(
      const std::vector<NpyField>& fields,
      PageCache cache = PageCache::automatic);

  std::string name() const override { return "npy"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t size() const override { return size_; }
  Status gather(std::span<const std::int64_t> numbers,
                std::span<std::byte* const> rows,
                const ReadContext& context) const override;
  bool prefers_blocks() const override;
  std::string whereabouts(std::int64_t number) const override;
  std::string describe() const override;

 private:
  struct Field {
    io::NpyFile file;
    bool drop = false;
    // Read since the cache was last dropped.
    std::unique_ptr<std::atomic<std::int64_t>> read_bytes;
  };
  NpySet() = default;
  static void count_read(const Field& field, std::int64_t bytes);
  Status gather_field(std::size_t i, std::span<const std::int64_t> numbers,
                      std::byte* out) const;

  std::int64_t size_ = 0;
  ElementSpec spec_;
  std::vector<Field> fields_;
};

}  // namespace plimsoll::data
