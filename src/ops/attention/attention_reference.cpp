#include "ops/attention/attention_reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ops/attention/attention_shape.h"

namespace plimsoll::ops {
namespace {

using Tensors = std::vector<RefTensor>;
using Values = std::vector<double>;

constexpr double kUnseen = -std::numeric_limits<double>::infinity();

// The op at its shapes, one query of one head at a time.
class Heads {
 public:
  Heads(const Tensors& inputs, const AttentionForm& form,
        const graph::Attrs& attrs)
      : shape_(shape_of(inputs, form, attrs)), form_(form), inputs_(inputs) {}

  const AttentionShape& shape() const { return shape_; }
  const Values& input(int position) const {
    return inputs_[static_cast<std::size_t>(position)].values;
  }

  // Where the query, or the key that serves head n, begins.
  std::size_t at_query(std::int64_t b, std::int64_t i, std::int64_t n) const {
    return static_cast<std::size_t>(
        ((b * shape_.queries + i) * shape_.heads + n) * shape_.width);
  }
  std::size_t at_key(std::int64_t b, std::int64_t j, std::int64_t n) const {
    return static_cast<std::size_t>(
        ((b * shape_.keys + j) * shape_.key_heads + n / shape_.group()) *
        shape_.width);
  }
  std::size_t at_lse(std::int64_t b, std::int64_t i, std::int64_t n) const {
    return static_cast<std::size_t>((b * shape_.heads + n) * shape_.queries +
                                    i);
  }

  double dot(const Values& a, std::size_t a_at, const Values& b,
             std::size_t b_at) const {
    double sum = 0;
    for (std::size_t d = 0; d < static_cast<std::size_t>(shape_.width); ++d) {
      sum += a[a_at + d] * b[b_at + d];
    }
    return sum;
  }

  // to += factor * from
  void add(double factor, const Values& from, std::size_t from_at, Values& to,
           std::size_t to_at) const {
    for (std::size_t d = 0; d < static_cast<std::size_t>(shape_.width); ++d) {
      to[to_at + d] += factor * from[from_at + d];
    }
  }

  double score(std::int64_t b, std::int64_t i, std::int64_t j,
               std::int64_t n) const {
    if (shape_.causal && j > i) return kUnseen;
    if (shape_.mask && input(form_.mask)[static_cast<std::size_t>(
                           b * shape_.mask_batch + n * shape_.mask_head +
                           i * shape_.mask_query + j)] == 0) {
      return kUnseen;
    }
    return shape_.scale * dot(input(form_.q), at_query(b, i, n), input(form_.k),
                              at_key(b, j, n));
  }

  template <class Each>
  void for_queries(const Each& each) const {
    for (std::int64_t b = 0; b < shape_.batch; ++b) {
      for (std::int64_t n = 0; n < shape_.heads; ++n) {
        for (std::int64_t i = 0; i < shape_.queries; ++i) each(b, n, i);
      }
    }
  }

 private:
  static AttentionShape shape_of(const Tensors& inputs,
                                 const AttentionForm& form,
                                 const graph::Attrs& attrs) {
    graph::TypeList types;
    for (const RefTensor& input : inputs) types.push_back(input.type);
    return attention_shape(types, form, attrs);
  }

  AttentionShape shape_;
  AttentionForm form_;
  const Tensors& inputs_;
};

void forward(const Tensors& inputs, const graph::Attrs& attrs,
             Tensors& outputs) {
  const Heads heads(inputs, kAttentionForward, attrs);
  const std::int64_t keys = heads.shape().keys;
  Values& y = outputs[0].values;
  std::fill(y.begin(), y.end(), 0);
  heads.for_queries([&](std::int64_t b, std::int64_t n, std::int64_t i) {
    Values scores;
    for (std::int64_t j = 0; j < keys; ++j) {
      scores.push_back(heads.score(b, i, j, n));
    }
    const double top = *std::max_element(scores.begin(), scores.end());
    double& lse = outputs[1].values[heads.at_lse(b, i, n)];
    lse = top;
    if (top == kUnseen) return;
    double sum = 0;
    for (const double score : scores) sum += std::exp(score - top);
    lse += std::log(sum);
    for (std::int64_t j = 0; j < keys; ++j) {
      const double share =
          std::exp(scores[static_cast<std::size_t>(j)] - top) / sum;
      heads.add(share, heads.input(2), heads.at_key(b, j, n), y,
                heads.at_query(b, i, n));
    }
  });
}

void backward(const Tensors& inputs, const graph::Attrs& attrs,
              Tensors& outputs) {
  const AttentionForm form = kAttentionBackward;
  const Heads heads(inputs, form, attrs);
  for (RefTensor& output : outputs) {
    std::fill(output.values.begin(), output.values.end(), 0);
  }
  const Values& dy = heads.input(form.dy);
  heads.for_queries([&](std::int64_t b, std::int64_t n, std::int64_t i) {
    const std::size_t query = heads.at_query(b, i, n);
    const double lse = heads.input(form.lse)[heads.at_lse(b, i, n)];
    const double level = heads.dot(dy, query, heads.input(form.y), query);
    for (std::int64_t j = 0; j < heads.shape().keys; ++j) {
      const double score = heads.score(b, i, j, n);
      if (score == kUnseen) continue;
      const std::size_t key = heads.at_key(b, j, n);
      const double share = std::exp(score - lse);
      const double slope =
          share * (heads.dot(dy, query, heads.input(form.v), key) - level) *
          heads.shape().scale;
      heads.add(slope, heads.input(form.k), key, outputs[0].values, query);
      heads.add(slope, heads.input(form.q), query, outputs[1].values, key);
      heads.add(share, dy, query, outputs[2].values, key);
    }
  });
}

}  // namespace

std::span<const Reference> attention_references() {
  static constexpr std::array references = {
      Reference{"attention", forward},
      Reference{"attention_grad", backward},
  };
  return references;
}

}  // namespace plimsoll::ops
