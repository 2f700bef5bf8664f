#include "ops/einsum/einsum.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <limits>
#include <optional>

#include "ops/einsum/diagonal.h"
#include "ops/einsum/equation.h"
#include "ops/elementwise/elementwise.h"
#include "ops/matmul/matmul.h"
#include "ops/movement/movement.h"
#include "ops/reduction/reduction.h"

namespace plimsoll::ops {
namespace {

using graph::Builder;
using graph::ValueId;

bool has(std::string_view labels, char label) {
  return labels.find(label) != std::string_view::npos;
}

std::string name_of(char label) {
  return std::isdigit(static_cast<unsigned char>(label)) != 0
             ? std::string("...")
             : std::string(1, label);
}

// A value and the labels of its axes.
struct Labelled {
  ValueId value;
  std::string labels;
};

// The labels of `from` for which `keep` holds.
template <class F>
std::string chosen(std::string_view from, const F& keep) {
  std::string labels;
  std::copy_if(from.begin(), from.end(), std::back_inserter(labels), keep);
  return labels;
}

// `labels` in the order in which `like` has them.
std::string ordered(std::string_view labels, std::string_view like) {
  return chosen(like, [&](char label) { return has(labels, label); });
}

// What each label does: `shared` axes stay in both operands and the result,
// `summed` ones go, the others belong to one operand.
struct Roles {
  std::string shared, summed, of_a, of_b;
};

Roles roles_of(const std::string& a, const std::string& b,
               const std::string& result) {
  return {
      chosen(a,
             [&](char label) { return has(b, label) && has(result, label); }),
      chosen(a,
             [&](char label) { return has(b, label) && !has(result, label); }),
      chosen(a, [&](char label) { return !has(b, label); }),
      chosen(b, [&](char label) { return !has(a, label); })};
}

// One way to make a product of matrices of it: an order for each role.
struct Way {
  bool swapped = false;  // b * a
  std::string shared, summed, of_a, of_b;

  std::string result() const {
    return shared + (swapped ? of_b + of_a : of_a + of_b);
  }
};

// Whether the operand lies as [shared, own, summed] or as [shared, summed,
// own].
bool lies_right(std::string_view labels, const Way& way,
                const std::string& own) {
  return labels == way.shared + own + way.summed ||
         labels == way.shared + way.summed + own;
}

class Einsum {
 public:
  Einsum(Builder& builder, std::string_view text)
      : builder_(builder), text_(text) {}

  ValueId build(ValueId a, ValueId b) {
    const graph::TensorType type_a = builder_.type(a);
    const graph::TensorType type_b = builder_.type(b);
    operands_ = type_a.to_string() + ", " + type_b.to_string();
    if (type_a.dtype != type_b.dtype || !is_floating(type_a.dtype)) {
      return fail("operands must share one floating dtype");
    }
    const auto parsed =
        parse_einsum(text_, type_a.shape.rank(), type_b.shape.rank());
    if (!parsed) return fail(parsed.error().message);
    result_ = parsed->result;
    Labelled left{a, parsed->a};
    Labelled right{b, parsed->b};
    take_diagonals(left, "the first operand");
    take_diagonals(right, "the second operand");
    note_dims(left, right);
    if (!builder_.ok()) return {};
    left = without_ones(left);
    right = without_ones(right);
    left = without_lonely(left, right.labels);
    right = without_lonely(right, left.labels);
    const Roles roles = roles_of(left.labels, right.labels, result_);
    // Without a sum, and one operand's axes all in the other, it is a product
    // of elements.
    if (roles.summed.empty() && (roles.of_a.empty() || roles.of_b.empty())) {
      return multiply(builder_, broadcastable(left), broadcastable(right));
    }
    return product(left, right, best_way(left, right, roles));
  }

 private:
  ValueId fail(std::string_view why) {
    builder_.fail({ErrorCode::bad_input, fmt::format("einsum \"{}\" of {}: {}",
                                                     text_, operands_, why)});
    return {};
  }

  const Dim& dim_of(char label) const {
    return dims_[static_cast<unsigned char>(label)];
  }

  const Dim& dim_at(const Labelled& operand, std::size_t axis) const {
    return builder_.type(operand.value).shape.dims()[axis];
  }

  // Until no letter is there twice.
  void take_diagonals(Labelled& operand, std::string_view name) {
    for (std::size_t i = 0; builder_.ok() && i < operand.labels.size();) {
      const char label = operand.labels[i];
      const std::size_t again = operand.labels.find(label, i + 1);
      if (again == std::string::npos) {
        ++i;
        continue;
      }
      const Dim first = dim_at(operand, i);
      const Dim second = dim_at(operand, again);
      if (first != second || first.per_batch) {
        fail(fmt::format("`{}` is {} in {}: {}", label,
                         Shape{first, second}.to_string(), name,
                         first != second
                             ? "a diagonal is of axes of one extent"
                             : "there is no diagonal of the batch"));
        return;
      }
      operand.value = diagonal(builder_, operand.value, static_cast<int>(i),
                               static_cast<int>(again));
      // The diagonal is the last axis.
      operand.labels.erase(again, 1).erase(i, 1) += label;
    }
  }

  // An axis of extent 1 serves for any other extent.
  void note_dims(const Labelled& a, const Labelled& b) {
    for (const Labelled* operand : {&a, &b}) {
      for (std::size_t i = 0; builder_.ok() && i < operand->labels.size();
           ++i) {
        const Dim& dim = dim_at(*operand, i);
        Dim& known = dims_[static_cast<unsigned char>(operand->labels[i])];
        if (known == Dim(-1) || known == Dim(1)) {
          known = dim;
        } else if (known != dim && dim != Dim(1)) {
          fail(fmt::format("`{}` is {} in one operand and {} in the other",
                           name_of(operand->labels[i]),
                           Shape{known}.to_string(), Shape{dim}.to_string()));
        }
      }
    }
  }

  // As if letters that stand for 1 here and for more in the other operand
  // weren't there.
  Labelled without_ones(const Labelled& operand) {
    std::string kept;
    std::vector<Dim> dims;
    for (std::size_t i = 0; i < operand.labels.size(); ++i) {
      if (dim_at(operand, i) != dim_of(operand.labels[i])) continue;
      kept += operand.labels[i];
      dims.push_back(dim_at(operand, i));
    }
    return {shaped(operand.value, std::move(dims)), kept};
  }

  // Axes that nothing else has are summed before all else.
  Labelled without_lonely(Labelled operand, std::string_view other) {
    std::vector<std::int64_t> axes;
    std::string kept;
    for (std::size_t i = 0; i < operand.labels.size(); ++i) {
      if (has(other, operand.labels[i]) || has(result_, operand.labels[i])) {
        kept += operand.labels[i];
      } else {
        axes.push_back(static_cast<std::int64_t>(i));
      }
    }
    if (axes.empty()) return operand;
    return {reduce_sum(builder_, operand.value, std::move(axes)), kept};
  }

  ValueId in_order(const Labelled& operand, const std::string& labels) {
    if (operand.labels == labels) return operand.value;
    std::vector<std::int64_t> perm;
    for (const char label : labels) {
      perm.push_back(static_cast<std::int64_t>(operand.labels.find(label)));
    }
    return transpose(builder_, operand.value, std::move(perm));
  }

  ValueId shaped(ValueId value, std::vector<Dim> dims) {
    Shape shape(std::move(dims));
    if (!builder_.ok() || builder_.type(value).shape == shape) return value;
    return reshape(builder_, value, std::move(shape));
  }

  // In the order of the result, with 1 where an axis is missing.
  ValueId broadcastable(const Labelled& operand) {
    const ValueId value = in_order(operand, ordered(operand.labels, result_));
    std::vector<Dim> dims;
    for (const char label : result_) {
      dims.push_back(has(operand.labels, label) ? dim_of(label) : Dim(1));
    }
    return shaped(value, std::move(dims));
  }

  // About how many elements a transpose moves.
  double elements_of(std::string_view labels) const {
    constexpr double kBatch = 64;
    double elements = 1;
    for (const char label : labels) {
      const Dim& dim = dim_of(label);
      elements *= static_cast<double>(dim.size) * (dim.per_batch ? kBatch : 1);
    }
    return elements;
  }

  // The way that moves the fewest elements; of equal ones the first.
  Way best_way(const Labelled& a, const Labelled& b, const Roles& roles) const {
    Way best;
    double least = std::numeric_limits<double>::infinity();
    for (int choice = 0; choice < 3 * 16; ++choice) {
      const auto bit = [&](int i) { return (choice / 3 >> i & 1) != 0; };
      const std::string& first = choice % 3 == 0   ? a.labels
                                 : choice % 3 == 1 ? b.labels
                                                   : result_;
      Way way;
      way.swapped = bit(0);
      way.shared = ordered(roles.shared, first);
      way.summed = ordered(roles.summed, bit(1) ? b.labels : a.labels);
      way.of_a = ordered(roles.of_a, bit(2) ? result_ : a.labels);
      way.of_b = ordered(roles.of_b, bit(3) ? result_ : b.labels);
      double moved = 0;
      if (!lies_right(a.labels, way, way.of_a)) moved += elements_of(a.labels);
      if (!lies_right(b.labels, way, way.of_b)) moved += elements_of(b.labels);
      if (way.result() != result_) moved += elements_of(result_);
      if (moved < least) {
        least = moved;
        best = way;
      }
    }
    return best;
  }

  // All of the labels' axes as one, if there is such a dimension.
  std::optional<Dim> merged(std::string_view labels) const {
    Dim all(1);
    for (const char label : labels) {
      const Dim& dim = dim_of(label);
      if (dim.per_batch && all.per_batch) return std::nullopt;
      all = Dim(all.size * dim.size, all.per_batch || dim.per_batch);
    }
    return all;
  }

  // An operand as [shared, own, summed], or [shared, summed, own].
  struct Matrix {
    ValueId value;
    bool summed_first = false;
  };
  Matrix matrix(const Labelled& operand, const Way& way,
                const std::string& own) {
    const bool summed_first =
        operand.labels == way.shared + way.summed + own && !own.empty();
    const std::string labels = summed_first ? way.shared + way.summed + own
                                            : way.shared + own + way.summed;
    const auto shared = merged(way.shared);
    const auto summed = merged(way.summed);
    const auto rows = merged(own);
    if (!shared || !summed || !rows) {
      fail("two axes of the batch cannot become one");
      return {};
    }
    std::vector<Dim> dims = summed_first ? std::vector{*summed, *rows}
                                         : std::vector{*rows, *summed};
    if (!way.shared.empty()) dims.insert(dims.begin(), *shared);
    return {shaped(in_order(operand, labels), std::move(dims)), summed_first};
  }

  ValueId product(const Labelled& a, const Labelled& b, const Way& way) {
    const Matrix left = matrix(a, way, way.of_a);
    const Matrix right = matrix(b, way, way.of_b);
    if (!builder_.ok()) return {};
    const ValueId made = way.swapped
                             ? matmul(builder_, right.value, left.value,
                                      right.summed_first, !left.summed_first)
                             : matmul(builder_, left.value, right.value,
                                      left.summed_first, !right.summed_first);
    std::vector<Dim> dims;
    for (const char label : way.result()) dims.push_back(dim_of(label));
    return in_order({shaped(made, std::move(dims)), way.result()}, result_);
  }

  Builder& builder_;
  const std::string text_;
  std::string operands_;
  std::string result_;
  // By label; -1 where there is none.
  std::vector<Dim> dims_ = std::vector<Dim>(256, Dim(-1));
};

}  // namespace

ValueId einsum(Builder& builder, std::string_view equation, ValueId a,
               ValueId b) {
  if (!builder.ok()) return {};
  return Einsum(builder, equation).build(a, b);
}

}  // namespace plimsoll::ops
