// What the ops of this family are given, what they make, and how their input is
// cut into pieces that share statistics.
#pragma once

#include <cstdint>
#include <string_view>

#include "graph/op_def.h"

namespace plimsoll::ops {

enum class NormKind {
  layer,      // a row of the last axis
  rms,        // likewise, without a mean
  group,      // an example's group of channels
  batch,      // a channel, over everything else
  inference,  // likewise, with statistics that are given
};

// Positions among the op's inputs and outputs; -1: there is none.
struct NormForm {
  NormKind kind = NormKind::layer;
  bool gradient = false;
  int dy = -1;
  int x = 0;
  int gamma = -1;
  int beta = -1;
  int mean = -1;
  int deviation = -1;  // the reciprocal one; inference: the variance
  int inputs = 0;
  // The first output is y, or dx.
  int mean_out = -1;
  int variance_out = -1;
  int deviation_out = -1;
  int dgamma = -1;
  int dbeta = -1;
  int outputs = 1;
};

// By the attributes `scale` (there is a gamma) and `center` (a beta), true
// unless set.
NormForm norm_form(NormKind kind, bool gradient, const graph::Attrs& attrs);
NormForm norm_form(std::string_view op, const graph::Attrs& attrs);
std::string_view norm_name(NormKind kind, bool gradient);

// x as [segments, rows, channels]: statistics of their own have each segment's
// groups of neighbouring channels.
struct NormShape {
  std::int64_t segments = 1;
  std::int64_t rows = 1;
  std::int64_t channels = 1;
  std::int64_t groups = 1;

  std::int64_t all_rows() const { return segments * rows; }
  std::int64_t elements() const { return all_rows() * channels; }
  std::int64_t width() const { return channels / groups; }  // of a group
  std::int64_t count() const { return rows * width(); }     // of a statistic
  std::int64_t statistics() const { return segments * groups; }
};

NormShape norm_shape(NormKind kind, const Shape& x, const graph::Attrs& attrs);

}  // namespace plimsoll::ops
