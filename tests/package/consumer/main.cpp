// A user's program: sees nothing but the installed headers and libraries.
#include <plimsoll/memory_source.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

class Counted final : public plimsoll::MemorySource {
 public:
  std::int64_t granularity_bytes() const override { return 4096; }
  void* map(std::int64_t bytes) noexcept override {
    mapped_ += bytes;
    peak_ = mapped_ > peak_ ? mapped_ : peak_;
    return std::calloc(1, static_cast<std::size_t>(bytes));
  }
  void unmap(void* start, std::int64_t bytes) noexcept override {
    mapped_ -= bytes;
    std::free(start);
  }
  std::int64_t mapped_bytes() const noexcept override { return mapped_; }
  std::int64_t peak_mapped_bytes() const noexcept override { return peak_; }

 private:
  std::int64_t mapped_ = 0;
  std::int64_t peak_ = 0;
};

}  // namespace

int main() {
  Counted source;
  void* start = source.map(8192);
  source.unmap(start, 8192);
  std::printf("peak %lld bytes\n",
              static_cast<long long>(source.peak_mapped_bytes()));
  return source.mapped_bytes() == 0 ? 0 : 1;
}
