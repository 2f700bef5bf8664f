// What the CPU's kernels of group and batch normalization share: the loops of
// this processor, and how sums are cut.
#pragma once

#include "ops/normalization/channel_norm_loops.h"
#include "ops/normalization/channel_split.h"
#include "ops/normalization/norm_kernel.h"

namespace plimsoll::ops {

inline const ChannelNormTables& channel_norm_loops() {
  static const ChannelNormTables best = pick_channel_norm_tables();
  return best;
}

inline ChannelSplit channel_split(const NormPlan& plan) {
  return split_channels(plan.shape, kMostNormParts, kNormPartElements);
}

}  // namespace plimsoll::ops
