#include "ops/embedding/embedding_reference.h"

#include <map>

#include "ops/update/update_reference.h"

namespace plimsoll::ops {
namespace {

using graph::Attrs;
using Tensors = std::vector<RefTensor>;
using Values = std::vector<double>;

std::size_t width_of(const RefTensor& rows) {
  return static_cast<std::size_t>(rows.type.shape.extent(-1));
}

bool is_row(double index, const RefTensor& table) {
  return index >= 0 && index < static_cast<double>(table.type.shape.extent(0));
}

// The sums of dy's rows, by where the row begins in `table`.
std::map<std::size_t, Values> summed(const RefTensor& dy,
                                     const RefTensor& indices,
                                     const RefTensor& table) {
  const std::size_t width = width_of(table);
  std::map<std::size_t, Values> sums;
  for (std::size_t i = 0; i < indices.values.size(); ++i) {
    if (!is_row(indices.values[i], table)) continue;
    const auto row = static_cast<std::size_t>(indices.values[i]);
    Values& sum = sums.try_emplace(row * width, width, 0.0).first->second;
    for (std::size_t j = 0; j < width; ++j) sum[j] += dy.values[i * width + j];
  }
  return sums;
}

// Copies table and states and updates the rows that are named.
template <UpdateRule kRule>
void update(const Tensors& in, const Attrs& attrs, Tensors& out) {
  constexpr UpdateForm kForm = update_form(kRule);
  out[0].values = in[0].values;
  for (std::size_t k = 1; k < out.size(); ++k) {
    out[k].values = in[k + 1].values;
  }
  const int at = kForm.gate(in.size() - 1);
  const double gate = at < 0 ? 1 : in[static_cast<std::size_t>(at)].values[0];
  if (gate == 0) return;
  const UpdateNumbers numbers = update_numbers(kForm, in, attrs);
  Values states(out.size() - 1);
  for (const auto& [start, sum] : summed(in[1], in.back(), in[0])) {
    for (std::size_t j = 0; j < sum.size(); ++j) {
      const std::size_t i = start + j;
      for (std::size_t k = 0; k < states.size(); ++k) {
        states[k] = out[k + 1].values[i];
      }
      update_element(kRule, numbers, gate * sum[j], out[0].values[i], states);
      for (std::size_t k = 0; k < states.size(); ++k) {
        out[k + 1].values[i] = states[k];
      }
    }
  }
}

constexpr Reference kReferences[] = {
    {"sgd_rows", update<UpdateRule::sgd>},
    {"sgd_momentum_rows", update<UpdateRule::sgd_momentum>},
    {"sgd_nesterov_rows", update<UpdateRule::sgd_nesterov>},
    {"adam_rows", update<UpdateRule::adam>},
    {"adamw_rows", update<UpdateRule::adamw>},
    {"rmsprop_rows", update<UpdateRule::rmsprop>},
    {"rmsprop_momentum_rows", update<UpdateRule::rmsprop_momentum>},
    {"rmsprop_centered_rows", update<UpdateRule::rmsprop_centered>},
    {"rmsprop_centered_momentum_rows",
     update<UpdateRule::rmsprop_centered_momentum>},
    {"adagrad_rows", update<UpdateRule::adagrad>}};

}  // namespace

std::span<const Reference> embedding_references() { return kReferences; }

}  // namespace plimsoll::ops
