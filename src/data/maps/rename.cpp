#include "data/maps/rename.h"

#include <fmt/core.h>

#include <utility>

namespace plimsoll::data {
namespace {

class Rename final : public Map {
 public:
  Rename(FieldChoice field, std::string to)
      : field_(std::move(field)), to_(std::move(to)) {}

  std::string name() const override { return "rename"; }
  bool writes(int /*field*/) const override { return false; }

  Result<ElementSpec> bind(const ElementSpec& in) override {
    PLIMSOLL_ASSIGN(const int field, find_field(in, field_));
    for (const FieldSpec& other : in) {
      if (other.name != to_) continue;
      return Error{ErrorCode::bad_input,
                   fmt::format("rename: there is a field `{}` already: {}", to_,
                               to_string(in))};
    }
    ElementSpec out = in;
    out[static_cast<std::size_t>(field)].name = to_;
    return out;
  }

  Status apply(const Element& /*in*/, Element& /*out*/,
               std::span<std::byte* const> /*buffers*/,
               const MapContext& /*context*/) const override {
    return {};
  }

 private:
  FieldChoice field_;
  std::string to_;
};

}  // namespace

std::unique_ptr<Map> rename(FieldChoice field, std::string to) {
  return std::make_unique<Rename>(std::move(field), std::move(to));
}

}  // namespace plimsoll::data
