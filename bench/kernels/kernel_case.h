// One op at one shape, to be measured.
#pragma once

#include <string>
#include <vector>

#include "graph/op_def.h"

namespace plimsoll::bench {

struct KernelCase {
  std::string name;
  const graph::OpDef* op = nullptr;
  graph::TypeList inputs;
  graph::Attrs attrs;
};

std::vector<KernelCase> convolution_cases();

}  // namespace plimsoll::bench
