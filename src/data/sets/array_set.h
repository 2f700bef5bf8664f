// The user's own arrays, borrowed: they must outlive the set.
#pragma once

#include <memory>
#include <vector>

#include "data/indexed.h"

namespace plimsoll::data {

// `data` holds all elements one after another, row-major.
struct ArrayField {
  FieldSpec spec;  // of one element, fixed
  const void* data = nullptr;
};

class ArraySet final : public Indexed {
 public:
  // Arrays that are themselves mapped files are refused: reading them here
  // would pull the whole file into memory.
  static Result<std::unique_ptr<ArraySet>> create(
      std::int64_t size, std::vector<ArrayField> fields);

  std::string name() const override { return "arrays"; }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t size() const override { return size_; }
  Status read(std::int64_t number, Element& out,
              std::span<std::byte* const> buffers,
              const ReadContext& context) const override;
  Status gather(std::span<const std::int64_t> numbers,
                std::span<std::byte* const> rows,
                const ReadContext& context) const override;
  const std::byte* borrow(int field, std::int64_t first) const override;
  std::string whereabouts(std::int64_t) const override { return {}; }
  std::string describe() const override;

 private:
  ArraySet(std::int64_t size, ElementSpec spec,
           std::vector<const std::byte*> data)
      : size_(size), spec_(std::move(spec)), data_(std::move(data)) {}

  std::int64_t size_ = 0;
  ElementSpec spec_;
  std::vector<const std::byte*> data_;
};

}  // namespace plimsoll::data
