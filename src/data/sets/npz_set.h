// Stored arrays of an npz file, a field each.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/indexed.h"
#include "io/npz.h"

namespace plimsoll::data {

class NpzSet final : public Indexed {
 public:
  // The arrays by name, in the order of the fields. Compressed ones are
  // refused: they cannot be read by number.
  static Result<std::unique_ptr<NpzSet>> open(
      const std::string& path, const std::vector<std::string>& arrays,
      const std::vector<std::string>& fields);

  std::string name() const override { return "npz"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t size() const override { return size_; }
  Status gather(std::span<const std::int64_t> numbers,
                std::span<std::byte* const> rows,
                const ReadContext& context) const override;
  std::string whereabouts(std::int64_t number) const override;
  std::string describe() const override;

 private:
  explicit NpzSet(io::NpzFile file) : file_(std::move(file)) {}

  io::NpzFile file_;
  std::vector<int> arrays_;  // by field
  std::int64_t size_ = 0;
  ElementSpec spec_;
};

}  // namespace plimsoll::data
