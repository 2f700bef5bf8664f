#include "data/maps/function_map.h"

#include <fmt/core.h>

#include <exception>
#include <utility>

#include "data/maps/one_field.h"

namespace plimsoll::data {
namespace {

using Function = std::function<void(const float* in, float* out)>;

class FunctionMap final : public OneFieldMap {
 public:
  FunctionMap(const Extents& shape, Function f)
      : OneFieldMap("map", {}), shape_(shape), f_(std::move(f)) {}

 protected:
  Result<FieldSpec> bind_field(const FieldSpec& in) override {
    if (in.dtype != DType::f32 || !in.shape.is_fixed()) {
      return bad(
          fmt::format("field `{}` is {} {}: a function takes f32 of one "
                      "shape (use cast, decode_image, resize before)",
                      in.name, name_of(in.dtype), to_string(in.shape)));
    }
    return fixed_field(in.name, DType::f32, shape_);
  }

  Status apply_field(const Value& in, Value& out, std::byte* buffer,
                     std::int64_t, const MapContext&) const override {
    try {
      f_(reinterpret_cast<const float*>(in.data),
         reinterpret_cast<float*>(buffer));
    } catch (const std::exception& thrown) {
      return wrong(thrown.what());
    } catch (...) {
      return wrong("threw something that is no std::exception");
    }
    return set_shape(out, shape_);
  }

 private:
  Extents shape_;
  Function f_;
};

}  // namespace

Result<std::shared_ptr<Map>> function_map(
    const std::vector<std::int64_t>& shape, Function f) {
  PLIMSOLL_ASSIGN(const Extents extents, extents_of("map", shape));
  for (int i = 0; i < extents.rank; ++i) {
    if (extents[i] > 0) continue;
    return Error{ErrorCode::bad_input,
                 fmt::format("map: shape {}: every size must be at least 1",
                             to_string(extents))};
  }
  return std::shared_ptr<Map>(
      std::make_shared<FunctionMap>(extents, std::move(f)));
}

}  // namespace plimsoll::data
