#include "ops/normalization/norm_types.h"

#include <fmt/core.h>

#include <cmath>
#include <string>

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using graph::TensorType;
using graph::TypeList;

class Inference {
 public:
  Inference(NormKind kind, bool gradient, std::span<const TensorType> inputs,
            const Attrs& attrs)
      : form_(norm_form(kind, gradient, attrs)),
        inputs_(inputs),
        attrs_(attrs) {}

  Result<TypeList> run() const {
    if (std::ssize(inputs_) != form_.inputs) {
      return wrong(fmt::format("takes {}, not {} inputs", list_of_inputs(),
                               inputs_.size()));
    }
    PLIMSOLL_RETURN_IF_ERROR(check_x());
    if (form_.dy >= 0 && !(input(form_.dy) == x())) {
      return wrong(fmt::format("dy {} must be as x, {}",
                               input(form_.dy).to_string(), x().to_string()));
    }
    PLIMSOLL_RETURN_IF_ERROR(check_parameter("gamma", form_.gamma));
    PLIMSOLL_RETURN_IF_ERROR(check_parameter("beta", form_.beta));
    if (form_.gamma >= 0 && form_.beta >= 0 &&
        !(input(form_.gamma) == input(form_.beta))) {
      return wrong(fmt::format("gamma {} and beta {} must be of one type",
                               input(form_.gamma).to_string(),
                               input(form_.beta).to_string()));
    }
    PLIMSOLL_RETURN_IF_ERROR(check_statistic("mean", form_.mean));
    PLIMSOLL_RETURN_IF_ERROR(check_statistic(
        form_.kind == NormKind::inference ? "variance" : "deviation",
        form_.deviation));
    return outputs();
  }

 private:
  const TensorType& input(int position) const {
    return inputs_[static_cast<std::size_t>(position)];
  }
  const TensorType& x() const { return input(form_.x); }

  Error wrong(const std::string& what) const {
    return {ErrorCode::bad_input,
            fmt::format("{}: {}", norm_name(form_.kind, form_.gradient), what)};
  }

  std::string list_of_inputs() const {
    std::string list = form_.gradient ? "dy, x" : "x";
    if (form_.gamma >= 0) list += ", gamma";
    if (form_.beta >= 0) list += ", beta";
    if (form_.mean >= 0) list += ", mean";
    if (form_.deviation >= 0) {
      list += form_.kind == NormKind::inference ? ", variance" : ", deviation";
    }
    return list;
  }

  Status check_x() const {
    const std::string text = x().to_string();
    if (!is_floating(x().dtype)) {
      return wrong(
          fmt::format("x must be f32, f64, bf16 or f16, not {}", text));
    }
    const bool examples =
        form_.kind != NormKind::layer && form_.kind != NormKind::rms;
    const int rank = x().shape.rank();
    if (rank < (examples ? 2 : 1) || x().shape[rank - 1].per_batch ||
        x().shape.extent(-1) < 1) {
      return wrong(fmt::format("x must be of shape {}, not {}",
                               examples ? "[B, ..., channels]" : "[..., n]",
                               text));
    }
    const double epsilon = attrs_.get<double>("epsilon");
    if (!(epsilon >= 0) || std::isinf(epsilon)) {
      return wrong(
          fmt::format("epsilon must be a number from 0 on, not {}", epsilon));
    }
    if (form_.kind != NormKind::group) return {};
    const auto groups = attrs_.get<std::int64_t>("groups");
    const std::int64_t channels = x().shape.extent(-1);
    if (groups < 1 || channels % groups != 0) {
      return wrong(
          fmt::format("{} groups do not divide the {} channels of x {}", groups,
                      channels, text));
    }
    return {};
  }

  Status check_parameter(std::string_view name, int position) const {
    if (position < 0) return {};
    const TensorType& type = input(position);
    const Shape wanted{x().shape.extent(-1)};
    const DType wide = wide_dtype(x().dtype);
    if (type.shape == wanted &&
        (type.dtype == x().dtype || type.dtype == wide)) {
      return {};
    }
    return wrong(fmt::format("{} {} does not fit x {}: it must be {}", name,
                             type.to_string(), x().to_string(),
                             TensorType{wide, wanted}.to_string()));
  }

  TensorType statistic() const {
    std::vector<Dim> dims = x().shape.dims();
    if (form_.kind == NormKind::group) {
      dims = {dims[0], attrs_.get<std::int64_t>("groups")};
    } else if (form_.kind == NormKind::layer || form_.kind == NormKind::rms) {
      dims.pop_back();
    } else {
      dims = {dims.back()};
    }
    return {wide_dtype(x().dtype), Shape(std::move(dims))};
  }

  Status check_statistic(std::string_view name, int position) const {
    if (position < 0 || input(position) == statistic()) return {};
    return wrong(fmt::format("{} {} does not fit x {}: it must be {}", name,
                             input(position).to_string(), x().to_string(),
                             statistic().to_string()));
  }

  Result<TypeList> outputs() const {
    TypeList types(static_cast<std::size_t>(form_.outputs), statistic());
    types[0] = x();
    if (form_.dgamma >= 0) {
      types[static_cast<std::size_t>(form_.dgamma)] = input(form_.gamma);
    }
    if (form_.dbeta >= 0) {
      // Without a gamma to go by, an attribute tells beta's dtype.
      TensorType type{x().dtype, Shape{x().shape.extent(-1)}};
      if (form_.gamma >= 0) {
        type = input(form_.gamma);
      } else if (attrs_.has("dtype")) {
        const auto name = attrs_.get<std::string>("dtype");
        const auto dtype = parse_dtype(name);
        if (!dtype ||
            (*dtype != x().dtype && *dtype != wide_dtype(x().dtype))) {
          return wrong(fmt::format("dbeta cannot be {} for x {}", name,
                                   x().to_string()));
        }
        type.dtype = *dtype;
      }
      types[static_cast<std::size_t>(form_.dbeta)] = type;
    }
    return types;
  }

  NormForm form_;
  std::span<const TensorType> inputs_;
  const Attrs& attrs_;
};

}  // namespace

Result<TypeList> norm_types(NormKind kind, bool gradient,
                            std::span<const TensorType> inputs,
                            const Attrs& attrs) {
  return Inference(kind, gradient, inputs, attrs).run();
}

}  // namespace plimsoll::ops
