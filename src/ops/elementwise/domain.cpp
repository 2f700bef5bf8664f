#include "ops/elementwise/domain.h"

#include <algorithm>
#include <array>

namespace plimsoll::ops {
namespace {

// Strides of an input over the output's dimensions: 0 where it is broadcast.
std::vector<std::int64_t> broadcast_strides(const Shape& input,
                                            const Shape& output) {
  const auto rank = static_cast<std::size_t>(output.rank());
  const auto added = rank - static_cast<std::size_t>(input.rank());
  const auto dense = row_major_strides(input);
  std::vector<std::int64_t> strides(rank, 0);
  for (std::size_t axis = added; axis < rank; ++axis) {
    const std::int64_t extent = input.dims()[axis - added].size;
    strides[axis] = extent == 1 ? 0 : dense[axis - added];
  }
  return strides;
}

using Strides = std::vector<std::vector<std::int64_t>>;  // by input

// Merges neighbouring dimensions that all inputs cross as one.
void collapse(Domain& domain, const Shape& output, Strides& strides) {
  Strides merged(strides.size());
  for (std::size_t axis = 0; axis < output.dims().size(); ++axis) {
    const std::int64_t extent = output.dims()[axis].size;
    if (extent == 1) continue;
    bool joins = !domain.extents.empty();
    for (std::size_t i = 0; joins && i < strides.size(); ++i) {
      joins = merged[i].back() == strides[i][axis] * extent;
    }
    if (joins) {
      domain.extents.back() *= extent;
    } else {
      domain.extents.push_back(extent);
    }
    for (std::size_t i = 0; i < strides.size(); ++i) {
      if (joins) merged[i].pop_back();
      merged[i].push_back(strides[i][axis]);
    }
  }
  strides = std::move(merged);
}

InputAccess classify(const Domain& domain, std::vector<std::int64_t> strides) {
  InputAccess input;
  // Trailing dimensions that the input has densely, then none before them.
  std::int64_t period = 1;
  std::size_t axis = strides.size();
  while (axis > 0 && strides[axis - 1] == period) {
    period *= domain.extents[--axis];
  }
  const bool repeats = std::all_of(
      strides.begin(), strides.begin() + static_cast<std::ptrdiff_t>(axis),
      [](std::int64_t stride) { return stride == 0; });
  input.period = period;
  if (!repeats) {
    input.access = Access::expanded;
    input.strides = std::move(strides);
  } else if (period == domain.elements) {
    input.access = Access::dense;
  } else if (period == 1) {
    input.access = Access::scalar;
  } else {
    input.access = period > kBlockElements ? Access::periodic : Access::tiled;
  }
  return input;
}

void choose_blocks(Domain& domain) {
  std::int64_t tile = 1;
  domain.row = domain.elements;
  for (const InputAccess& input : domain.inputs) {
    if (input.access == Access::tiled) tile = std::max(tile, input.period);
    if (input.access == Access::periodic) {
      domain.row = std::min(domain.row, input.period);
    }
  }
  // Periods are products of trailing extents: each divides every longer one,
  // so a multiple of the longest tile suits them all.
  const std::int64_t most = kBlockElements / tile * tile;
  domain.blocks_per_row = (domain.row + most - 1) / most;
  const std::int64_t unit = tile > 1 ? tile : 16;
  const std::int64_t even =
      (domain.row + domain.blocks_per_row - 1) / domain.blocks_per_row;
  domain.block = (even + unit - 1) / unit * unit;
}

template <class T>
void expand(const Domain& domain, const InputAccess& input, const T* in, T* out,
            std::int64_t start, std::int64_t count) {
  const std::size_t rank = domain.extents.size();
  std::array<std::int64_t, kMostExtents> index{};
  std::int64_t offset = 0;
  for (std::size_t axis = rank; axis-- > 0;) {
    index[axis] = start % domain.extents[axis];
    start /= domain.extents[axis];
    offset += index[axis] * input.strides[axis];
  }
  const std::int64_t inner = domain.extents[rank - 1];
  const bool repeat = input.strides[rank - 1] == 0;
  while (count > 0) {
    const std::int64_t n = std::min(count, inner - index[rank - 1]);
    if (repeat) {
      std::fill_n(out, n, in[offset]);
    } else {
      std::copy_n(in + offset, n, out);
    }
    out += n;
    count -= n;
    // On to the next inner row.
    if (!repeat) offset -= index[rank - 1];
    index[rank - 1] = 0;
    for (std::size_t axis = rank - 1; axis-- > 0;) {
      offset += input.strides[axis];
      if (++index[axis] < domain.extents[axis]) break;
      offset -= input.strides[axis] * domain.extents[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

std::optional<Domain> find_domain(std::span<const graph::TensorType> inputs,
                                  const Shape& output) {
  Domain domain;
  domain.elements = output.elements();
  Strides strides;
  for (const graph::TensorType& type : inputs) {
    strides.push_back(broadcast_strides(type.shape, output));
  }
  collapse(domain, output, strides);
  if (domain.extents.size() > static_cast<std::size_t>(kMostExtents)) {
    return std::nullopt;
  }
  for (auto& input : strides) {
    domain.inputs.push_back(classify(domain, std::move(input)));
  }
  if (domain.elements > 0) choose_blocks(domain);
  return domain;
}

void expand_f32(const Domain& domain, const InputAccess& input, const void* in,
                void* out, std::int64_t start, std::int64_t count) {
  expand(domain, input, static_cast<const float*>(in), static_cast<float*>(out),
         start, count);
}

void expand_f64(const Domain& domain, const InputAccess& input, const void* in,
                void* out, std::int64_t start, std::int64_t count) {
  expand(domain, input, static_cast<const double*>(in),
         static_cast<double*>(out), start, count);
}

void expand_u16(const Domain& domain, const InputAccess& input, const void* in,
                void* out, std::int64_t start, std::int64_t count) {
  expand(domain, input, static_cast<const std::uint16_t*>(in),
         static_cast<std::uint16_t*>(out), start, count);
}

}  // namespace plimsoll::ops
