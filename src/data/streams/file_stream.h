// What sources that read files one after another have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/permutation.h"
#include "data/stream.h"

namespace plimsoll::data {

struct FileStreamOptions {
  std::vector<std::string> patterns;
  bool shuffle_files = false;  // another order of the files in every epoch
  std::uint64_t seed = 1;
};

class FileStream : public Stream {
 public:
  const ElementSpec& spec() const final { return spec_; }
  std::int64_t count() const final { return count_; }
  void place(Placer& placer) final;
  Status start(std::int64_t epoch) final;
  Result<bool> next(Element& out) final;
  void save(State& state) const final;
  Status restore(std::int64_t epoch, StateReader& state) final;
  std::string whereabouts(const Element& element) const final;

 protected:
  // Where reading goes on within a file; all 0: at its start.
  struct Position {
    std::int64_t offset = 0;
    std::int64_t number = 0;  // elements before, bad ones included
    std::int64_t extra = 0;   // what a format needs beside these
  };

  FileStream(std::vector<std::string> files, const FileStreamOptions& options,
             bool has_extra)
      : files_(std::move(files)), options_(options), has_extra_(has_extra) {}

  const std::vector<std::string>& files() const { return files_; }

  virtual void take_memory(Placer& placer) = 0;
  // Opens a file at its start; after an error it is tried again.
  virtual Status open(const std::string& path) = 0;
  virtual void close() = 0;
  // Back to the start of the open file: allocates nothing.
  virtual Status rewind() = 0;
  // The next element's offset and values; false at the end of the file.
  virtual Result<bool> read(Element& out) = 0;
  virtual Position position() const = 0;
  virtual Status seek(const Position& position) = 0;

  ElementSpec spec_;
  std::int64_t count_ = kUnknownCount;

 private:
  void begin(std::int64_t epoch);
  Status begin_file(std::size_t file);
  void release();
  std::size_t file_at(std::int64_t place) const;

  std::vector<std::string> files_;
  FileStreamOptions options_;
  bool has_extra_;
  std::optional<Permutation> order_;
  std::int64_t place_ = 0;           // of the file in the epoch's order
  bool is_begun_ = false;            // the file at that place
  std::optional<std::size_t> open_;  // maybe of an epoch before
  std::int64_t earlier_ = 0;         // elements of the files before
};

}  // namespace plimsoll::data
