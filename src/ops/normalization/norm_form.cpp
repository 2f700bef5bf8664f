#include "ops/normalization/norm_form.h"

#include <array>

namespace plimsoll::ops {
namespace {

constexpr std::array<std::string_view, 5> kForward = {
    "layer_norm", "rms_norm", "group_norm", "batch_norm",
    "batch_norm_inference"};
constexpr std::array<std::string_view, 5> kBackward = {
    "layer_norm_grad", "rms_norm_grad", "group_norm_grad", "batch_norm_grad",
    "batch_norm_inference_grad"};

}  // namespace

std::string_view norm_name(NormKind kind, bool gradient) {
  return (gradient ? kBackward : kForward)[static_cast<std::size_t>(kind)];
}

NormForm norm_form(NormKind kind, bool gradient, const graph::Attrs& attrs) {
  const bool scale = attrs.get<bool>("scale", true);
  const bool center = kind != NormKind::rms && attrs.get<bool>("center", true);
  const bool has_mean = kind != NormKind::rms;
  NormForm form;
  form.kind = kind;
  form.gradient = gradient;
  if (gradient) form.dy = form.inputs++;
  form.x = form.inputs++;
  if (scale) form.gamma = form.inputs++;
  if (center && !gradient) form.beta = form.inputs++;
  if (gradient || kind == NormKind::inference) {
    if (has_mean) form.mean = form.inputs++;
    form.deviation = form.inputs++;
  }
  if (gradient) {
    if (scale) form.dgamma = form.outputs++;
    if (center) form.dbeta = form.outputs++;
  } else if (kind != NormKind::inference) {
    if (has_mean) form.mean_out = form.outputs++;
    if (kind == NormKind::batch) form.variance_out = form.outputs++;
    form.deviation_out = form.outputs++;
  }
  return form;
}

NormForm norm_form(std::string_view op, const graph::Attrs& attrs) {
  for (std::size_t i = 0; i < kForward.size(); ++i) {
    const auto kind = static_cast<NormKind>(i);
    if (op == kForward[i]) return norm_form(kind, false, attrs);
    if (op == kBackward[i]) return norm_form(kind, true, attrs);
  }
  return {};
}

NormShape norm_shape(NormKind kind, const Shape& x, const graph::Attrs& attrs) {
  NormShape shape;
  shape.channels = x.extent(-1);
  const std::int64_t rows =
      shape.channels == 0 ? 0 : x.elements() / shape.channels;
  if (kind == NormKind::layer || kind == NormKind::rms) {
    shape.segments = rows;
  } else if (kind == NormKind::group) {
    shape.segments = x.extent(0);
    shape.rows = shape.segments == 0 ? 0 : rows / shape.segments;
    shape.groups = attrs.get<std::int64_t>("groups", 1);
  } else {
    shape.rows = rows;
    shape.groups = shape.channels;
  }
  return shape;
}

}  // namespace plimsoll::ops
