#include "ops/normalization/normalization_reference.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/normalization/norm_form.h"

namespace plimsoll::ops {
namespace {

using Tensors = std::vector<RefTensor>;
using Values = std::vector<double>;

// One statistic's elements of x: where they lie, and their channels.
struct Piece {
  std::vector<std::size_t> at;
  std::vector<std::size_t> channel;
};

std::vector<Piece> pieces_of(const NormShape& shape) {
  std::vector<Piece> pieces;
  for (std::int64_t segment = 0; segment < shape.segments; ++segment) {
    for (std::int64_t group = 0; group < shape.groups; ++group) {
      Piece piece;
      for (std::int64_t row = 0; row < shape.rows; ++row) {
        for (std::int64_t j = 0; j < shape.width(); ++j) {
          const std::int64_t channel = group * shape.width() + j;
          const std::int64_t line = segment * shape.rows + row;
          piece.at.push_back(
              static_cast<std::size_t>(line * shape.channels + channel));
          piece.channel.push_back(static_cast<std::size_t>(channel));
        }
      }
      pieces.push_back(std::move(piece));
    }
  }
  return pieces;
}

const Values* find(const Tensors& tensors, int position) {
  return position < 0 ? nullptr
                      : &tensors[static_cast<std::size_t>(position)].values;
}
Values* find(Tensors& tensors, int position) {
  return position < 0 ? nullptr
                      : &tensors[static_cast<std::size_t>(position)].values;
}

struct Moments {
  double mean = 0;
  double variance = 0;
};

// With more digits than a kernel has, since the mean may be far above the
// deviation.
Moments moments(const Values& x, const Piece& piece, bool with_mean) {
  const auto count = static_cast<long double>(piece.at.size());
  long double mean = 0;
  long double squares = 0;
  if (with_mean) {
    for (const std::size_t i : piece.at) mean += x[i];
    mean /= count;
  }
  for (const std::size_t i : piece.at) {
    squares += (x[i] - mean) * (x[i] - mean);
  }
  return {static_cast<double>(mean), static_cast<double>(squares / count)};
}

template <NormKind kKind>
void forward(const Tensors& inputs, const graph::Attrs& attrs,
             Tensors& outputs) {
  const NormForm form = norm_form(kKind, false, attrs);
  const NormShape shape = norm_shape(kKind, inputs[0].type.shape, attrs);
  const double epsilon = attrs.get<double>("epsilon");
  const Values& x = inputs[0].values;
  const Values* gamma = find(inputs, form.gamma);
  const Values* beta = find(inputs, form.beta);
  const auto pieces = pieces_of(shape);
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    Moments m = kKind == NormKind::inference
                    ? Moments{(*find(inputs, form.mean))[p],
                              (*find(inputs, form.deviation))[p]}
                    : moments(x, pieces[p], kKind != NormKind::rms);
    const double deviation = 1 / std::sqrt(m.variance + epsilon);
    for (std::size_t k = 0; k < pieces[p].at.size(); ++k) {
      const std::size_t c = pieces[p].channel[k];
      outputs[0].values[pieces[p].at[k]] =
          (x[pieces[p].at[k]] - m.mean) * deviation *
              (gamma != nullptr ? (*gamma)[c] : 1) +
          (beta != nullptr ? (*beta)[c] : 0);
    }
    if (Values* mean = find(outputs, form.mean_out)) (*mean)[p] = m.mean;
    if (Values* out = find(outputs, form.deviation_out)) (*out)[p] = deviation;
    if (Values* variance = find(outputs, form.variance_out)) {
      const auto count = static_cast<double>(pieces[p].at.size());
      const bool unbiased = attrs.get<bool>("unbiased");
      (*variance)[p] =
          m.variance * (unbiased ? count / std::max(1.0, count - 1) : 1);
    }
  }
}

template <NormKind kKind>
void backward(const Tensors& inputs, const graph::Attrs& attrs,
              Tensors& outputs) {
  const NormForm form = norm_form(kKind, true, attrs);
  const NormShape shape = norm_shape(kKind, inputs[0].type.shape, attrs);
  const Values& dy = inputs[0].values;
  const Values& x = inputs[1].values;
  const Values* gamma = find(inputs, form.gamma);
  const Values* mean = find(inputs, form.mean);
  const Values& given = *find(inputs, form.deviation);
  Values* dgamma = find(outputs, form.dgamma);
  Values* dbeta = find(outputs, form.dbeta);
  for (Values* sums : {dgamma, dbeta}) {
    if (sums != nullptr) std::fill(sums->begin(), sums->end(), 0);
  }
  const auto pieces = pieces_of(shape);
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const Piece& piece = pieces[p];
    const auto count = static_cast<double>(piece.at.size());
    const double deviation =
        kKind == NormKind::inference
            ? 1 / std::sqrt(given[p] + attrs.get<double>("epsilon"))
            : given[p];
    const auto normal = [&](std::size_t i) {
      return (x[i] - (mean != nullptr ? (*mean)[p] : 0)) * deviation;
    };
    const auto scaled = [&](std::size_t k) {
      return dy[piece.at[k]] *
             (gamma != nullptr ? (*gamma)[piece.channel[k]] : 1);
    };
    double sum = 0;
    double dot = 0;
    for (std::size_t k = 0; k < piece.at.size(); ++k) {
      const std::size_t i = piece.at[k];
      if (dbeta != nullptr) (*dbeta)[piece.channel[k]] += dy[i];
      if (dgamma != nullptr) (*dgamma)[piece.channel[k]] += dy[i] * normal(i);
      if (kKind == NormKind::inference) continue;
      if (kKind != NormKind::rms) sum += scaled(k) / count;
      dot += scaled(k) * normal(i) / count;
    }
    for (std::size_t k = 0; k < piece.at.size(); ++k) {
      outputs[0].values[piece.at[k]] =
          deviation * (scaled(k) - sum - normal(piece.at[k]) * dot);
    }
  }
}

}  // namespace

std::span<const Reference> normalization_references() {
  static constexpr std::array references = {
      Reference{"layer_norm", forward<NormKind::layer>},
      Reference{"layer_norm_grad", backward<NormKind::layer>},
      Reference{"rms_norm", forward<NormKind::rms>},
      Reference{"rms_norm_grad", backward<NormKind::rms>},
      Reference{"group_norm", forward<NormKind::group>},
      Reference{"group_norm_grad", backward<NormKind::group>},
      Reference{"batch_norm", forward<NormKind::batch>},
      Reference{"batch_norm_grad", backward<NormKind::batch>},
      Reference{"batch_norm_inference", forward<NormKind::inference>},
      Reference{"batch_norm_inference_grad", backward<NormKind::inference>},
  };
  return references;
}

}  // namespace plimsoll::ops
