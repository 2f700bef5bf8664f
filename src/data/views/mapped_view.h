// A set whose elements go through a map as they are read.
#pragma once

#include <memory>

#include "data/map.h"
#include "data/views/view.h"

namespace plimsoll::data {

class MappedView final : public View {
 public:
  // `seed` keys the map's chance, if it has any.
  static Result<std::unique_ptr<MappedView>> create(
      std::shared_ptr<const Indexed> input, std::shared_ptr<Map> map,
      std::uint64_t seed);

  std::string name() const override { return map_->name(); }
  const ElementSpec& spec() const override { return spec_; }
  std::int64_t scratch_bytes() const override;
  Status read(std::int64_t number, Element& out,
              std::span<std::byte* const> buffers,
              const ReadContext& context) const override;
  Status gather(std::span<const std::int64_t> numbers,
                std::span<std::byte* const> rows,
                const ReadContext& context) const override;
  const std::byte* borrow(int field, std::int64_t first) const override;

 private:
  MappedView(std::shared_ptr<const Indexed> input, std::shared_ptr<Map> map,
             std::uint64_t seed)
      : View(std::move(input)), map_(std::move(map)), seed_(seed) {}

  bool passes(std::size_t field) const;
  Status apply(const Element& in, Element& out,
               std::span<std::byte* const> buffers,
               const MapContext& context) const;
  Status gather_fixed(std::span<const std::int64_t> numbers,
                      std::span<std::byte* const> rows,
                      const ReadContext& context) const;

  std::shared_ptr<Map> map_;
  std::uint64_t seed_ = 1;
  ElementSpec spec_;
  bool fixed_input_ = true;        // all fields have one shape
  std::int64_t rows_at_once_ = 1;  // of the input, in scratch
};

}  // namespace plimsoll::data
