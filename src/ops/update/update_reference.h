#pragma once

#include <span>
#include <vector>

#include "ops/reference.h"
#include "ops/update/update_form.h"

namespace plimsoll::ops {

std::span<const Reference> update_references();

// An update of one element: its gradient, with the gate in it, the parameter
// and the states.
struct UpdateNumbers {
  double rate = 0;
  double step = 1;
  const graph::Attrs* attrs = nullptr;
};
UpdateNumbers update_numbers(const UpdateForm& form,
                             const std::vector<RefTensor>& inputs,
                             const graph::Attrs& attrs);
void update_element(UpdateRule rule, const UpdateNumbers& numbers, double g,
                    double& p, std::span<double> states);

}  // namespace plimsoll::ops
