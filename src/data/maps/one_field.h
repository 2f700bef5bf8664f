// What maps have in common that change one field and pass the others on.
#pragma once

#include <string>
#include <utility>

#include "data/map.h"

namespace plimsoll::data {

// By name, or by number where the name is empty.
struct FieldChoice {
  std::string name;
  int number = 0;
};

Result<int> find_field(const ElementSpec& spec, const FieldChoice& choice);

class OneFieldMap : public Map {
 public:
  std::string name() const override { return name_; }
  Result<ElementSpec> bind(const ElementSpec& in) override;
  bool writes(int field) const override { return field == field_; }
  Status apply(const Element& in, Element& out,
               std::span<std::byte* const> buffers,
               const MapContext& context) const override;

 protected:
  OneFieldMap(std::string name, FieldChoice choice)
      : name_(std::move(name)), choice_(std::move(choice)) {}

  // What becomes of the field; its name is kept by the caller.
  virtual Result<FieldSpec> bind_field(const FieldSpec& in) = 0;
  // Writes to `buffer` and sets the bytes and shape of `out`. `in` has the
  // spec's rank and fixed extents, and the bytes its shape needs. Not called
  // where nobody wants the field.
  virtual Status apply_field(const Value& in, Value& out, std::byte* buffer,
                             std::int64_t index,
                             const MapContext& context) const = 0;

  int field() const { return field_; }
  const FieldSpec& in_spec() const { return in_spec_; }
  const FieldSpec& out_spec() const { return out_spec_; }
  // While binding; who calls apply() adds name and element itself.
  Error bad(const std::string& what) const {
    return {ErrorCode::bad_input, name_ + ": " + what};
  }
  static Error wrong(std::string what) {
    return {ErrorCode::bad_input, std::move(what)};
  }
  // Sets the shape and, from it, the bytes; an error if the spec's most_bytes
  // do not hold them.
  Status set_shape(Value& out, const Extents& shape) const;

 private:
  std::string name_;
  FieldChoice choice_;
  int field_ = 0;
  FieldSpec in_spec_;
  FieldSpec out_spec_;
};

// Elements of a fixed shape with the overflow checked; an error otherwise.
Result<std::int64_t> checked_elements(const Extents& shape);

}  // namespace plimsoll::data
