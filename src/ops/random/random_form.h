// The attributes of random_uniform and random_normal, as kernels see them.
#pragma once

#include "graph/attrs.h"
#include "ops/random/random_words.h"

namespace plimsoll::ops {

// Numbers from `low` to `high` = low + span, or low + span * normal.
struct RandomForm {
  std::uint64_t key = 0;
  std::uint64_t lower_key = 0;  // of f64's lower words
  double low = 0;
  double span = 1;
  double high = 1;
};

inline RandomForm random_form(const graph::Attrs& attrs, bool normal) {
  const auto number = [&](const char* name) {
    return static_cast<std::uint64_t>(attrs.get<std::int64_t>(name));
  };
  RandomForm form;
  form.key = random_key(number("seed"), number("op_id"));
  form.lower_key = lower_key(form.key);
  form.low = attrs.get<double>(normal ? "mean" : "low");
  form.high = attrs.get<double>("high");
  form.span = normal ? attrs.get<double>("deviation") : form.high - form.low;
  return form;
}

}  // namespace plimsoll::ops
