// Keeps an epoch's elements: in memory as far as the given bytes go, the rest
// in a file without a name.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "data/streams/spill_file.h"
#include "data/streams/stage.h"

namespace plimsoll::data {

struct CacheOptions {
  std::int64_t memory_bytes = 0;
  std::string folder;  // of the file; empty: all must fit into memory
};

// The input is always read as epoch 0: what every epoch gives does not depend
// on where a run began. A first epoch that was not read from start to end is
// not kept; the next one is tried again.
class CacheStream final : public Stage {
 public:
  static Result<std::unique_ptr<CacheStream>> create(
      std::unique_ptr<Stream> input, const CacheOptions& options);

  std::string name() const override { return "cache"; }
  std::int64_t count() const override;
  void place(Placer& placer) override;
  Status start(std::int64_t epoch) override;
  Result<bool> next(Element& out) override;
  void save(State& state) const override;
  Status restore(std::int64_t epoch, StateReader& state) override;

  bool complete() const { return complete_; }
  std::int64_t elements() const { return kept_; }
  std::int64_t memory_bytes_used() const { return memory_used_; }
  std::int64_t file_bytes() const { return file_.written_bytes(); }

 private:
  enum class Mode { filling, passing, replaying };

  CacheStream(std::unique_ptr<Stream> input, const CacheOptions& options);
  std::int64_t record_bytes(const Element& element) const;
  void write_record(const Element& element, std::int64_t bytes,
                    std::byte* to) const;
  Result<std::int64_t> read_record(std::span<const std::byte> from,
                                   Element& out) const;
  Status keep(const Element& element);
  Result<bool> next_of_input(Element& out);
  Result<bool> next_kept(Element& out);
  Status replay_to(std::int64_t position);
  Status discard(std::int64_t elements);

  CacheOptions options_;
  std::int64_t most_record_bytes_ = 0;
  std::byte* memory_ = nullptr;
  SpillFile file_;
  Mode mode_ = Mode::filling;
  bool complete_ = false;
  std::int64_t kept_ = 0;         // elements, both places together
  std::int64_t memory_used_ = 0;  // bytes
  std::int64_t position_ = 0;     // elements given in this epoch
  std::int64_t memory_read_ = 0;  // bytes
};

}  // namespace plimsoll::data
