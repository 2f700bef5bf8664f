#include "ops/indexing/indexing_reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace plimsoll::ops {
namespace {

using graph::Attrs;

// The table as [outer][rows][inner], the other side as [outer][i][inner].
struct Sides {
  std::int64_t outer = 1, rows = 1, indices = 1, inner = 1;
  std::size_t row(std::int64_t o, std::int64_t at) const {
    return static_cast<std::size_t>((o * rows + at) * inner);
  }
  std::size_t value(std::int64_t o, std::int64_t i) const {
    return static_cast<std::size_t>((o * indices + i) * inner);
  }
};

Sides sides_of(const Shape& table, std::int64_t axis, std::size_t indices) {
  Sides sides;
  if (axis < 0) axis += table.rank();
  for (int i = 0; i < table.rank(); ++i) {
    (i < axis   ? sides.outer
     : i > axis ? sides.inner
                : sides.rows) *= table.extent(i);
  }
  sides.indices = static_cast<std::int64_t>(indices);
  return sides;
}

// Calls visit(where the value is, where its row is or no row).
constexpr auto kNoRow = std::numeric_limits<std::size_t>::max();
template <class F>
void for_rows(const Sides& sides, const std::vector<double>& indices,
              const Attrs& attrs, const F& visit) {
  const bool from_end = attrs.get<bool>("from_end", true);
  for (std::int64_t o = 0; o < sides.outer; ++o) {
    for (std::int64_t i = 0; i < sides.indices; ++i) {
      auto at = static_cast<std::int64_t>(indices[static_cast<std::size_t>(i)]);
      if (at < 0 && from_end) at += sides.rows;
      const bool inside = at >= 0 && at < sides.rows;
      for (std::int64_t j = 0; j < sides.inner; ++j) {
        const auto column = static_cast<std::size_t>(j);
        visit(sides.value(o, i) + column,
              inside ? sides.row(o, at) + column : kNoRow);
      }
    }
  }
}

void gather_values(const std::vector<RefTensor>& inputs, const Attrs& attrs,
                   std::vector<RefTensor>& outputs) {
  const bool zeros =
      attrs.get<bool>("zeros") || !is_floating(inputs[0].type.dtype);
  const auto& indices = inputs[1].values;
  for_rows(sides_of(inputs[0].type.shape, attrs.get<std::int64_t>("axis"),
                    indices.size()),
           indices, attrs, [&](std::size_t value, std::size_t row) {
             outputs[0].values[value] =
                 row != kNoRow ? inputs[0].values[row]
                 : zeros       ? 0.0
                               : std::numeric_limits<double>::quiet_NaN();
           });
}

void scatter_values(const std::vector<RefTensor>& inputs, const Attrs& attrs,
                    std::vector<RefTensor>& outputs) {
  auto& sums = outputs[0].values;
  if (inputs.size() == 3) {
    sums = inputs[2].values;
  } else {
    std::fill(sums.begin(), sums.end(), 0.0);
  }
  const auto& indices = inputs[1].values;
  for_rows(sides_of(outputs[0].type.shape, attrs.get<std::int64_t>("axis"),
                    indices.size()),
           indices, attrs, [&](std::size_t value, std::size_t row) {
             if (row != kNoRow) sums[row] += inputs[0].values[value];
           });
}

// Order of results: NaN, then from the largest down.
bool larger(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  return a > b;
}

void argmax_values(const std::vector<RefTensor>& inputs, const Attrs& attrs,
                   std::vector<RefTensor>& outputs) {
  const Sides a =
      sides_of(inputs[0].type.shape, attrs.get<std::int64_t>("axis"), 1);
  for (std::int64_t o = 0; o < a.outer; ++o) {
    for (std::int64_t j = 0; j < a.inner; ++j) {
      const auto value = [&](std::int64_t at) {
        return inputs[0].values[a.row(o, at) + static_cast<std::size_t>(j)];
      };
      std::int64_t best = 0;
      for (std::int64_t at = 1; at < a.rows; ++at) {
        if (larger(value(at), value(best))) best = at;
      }
      outputs[0].values[static_cast<std::size_t>(o * a.inner + j)] =
          static_cast<double>(best);
    }
  }
}

void topk_values(const std::vector<RefTensor>& inputs, const Attrs& attrs,
                 std::vector<RefTensor>& outputs) {
  const auto n = static_cast<std::size_t>(inputs[0].type.shape.extent(-1));
  const auto k = static_cast<std::size_t>(attrs.get<std::int64_t>("k"));
  std::vector<std::size_t> order(n);
  for (std::size_t row = 0; row * n < inputs[0].values.size(); ++row) {
    const double* x = inputs[0].values.data() + row * n;
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(
        order.begin(), order.end(),
        [&](std::size_t a, std::size_t b) { return larger(x[a], x[b]); });
    for (std::size_t i = 0; i < k; ++i) {
      outputs[0].values[row * k + i] = x[order[i]];
      outputs[1].values[row * k + i] = static_cast<double>(order[i]);
    }
  }
}

void topk_grad_values(const std::vector<RefTensor>& inputs, const Attrs&,
                      std::vector<RefTensor>& outputs) {
  const auto k = static_cast<std::size_t>(inputs[0].type.shape.extent(-1));
  const auto n = static_cast<std::size_t>(outputs[0].type.shape.extent(-1));
  auto& dx = outputs[0].values;
  std::fill(dx.begin(), dx.end(), 0.0);
  for (std::size_t i = 0; i < inputs[0].values.size(); ++i) {
    const double at = inputs[1].values[i];
    if (at < 0 || at >= static_cast<double>(n)) continue;
    dx[i / k * n + static_cast<std::size_t>(at)] = inputs[0].values[i];
  }
}

void one_hot_values(const std::vector<RefTensor>& inputs, const Attrs& attrs,
                    std::vector<RefTensor>& outputs) {
  const auto depth = attrs.get<std::int64_t>("depth");
  auto& hot = outputs[0].values;
  std::fill(hot.begin(), hot.end(), 0.0);
  for (std::size_t i = 0; i < inputs[0].values.size(); ++i) {
    const auto at = static_cast<std::int64_t>(inputs[0].values[i]);
    if (at < 0 || at >= depth) continue;
    hot[i * static_cast<std::size_t>(depth) + static_cast<std::size_t>(at)] = 1;
  }
}

}  // namespace

std::span<const Reference> indexing_references() {
  static constexpr std::array<Reference, 6> all = {{
      {"gather", gather_values},
      {"scatter_add", scatter_values},
      {"argmax", argmax_values},
      {"topk", topk_values},
      {"topk_grad", topk_grad_values},
      {"one_hot", one_hot_values},
  }};
  return all;
}

}  // namespace plimsoll::ops
