#include "ops/refusal.h"

#include <fmt/core.h>

#include <string>

namespace plimsoll::ops {

Error no_kernel(const graph::KernelQuery& query, std::string_view device) {
  std::string types;
  for (const graph::TensorType& type : query.inputs) {
    if (!types.empty()) types += ", ";
    types += name_of(type.dtype);
  }
  types += " -> ";
  for (std::size_t i = 0; i < query.outputs.size(); ++i) {
    if (i > 0) types += ", ";
    types += name_of(query.outputs[i].dtype);
  }
  return {ErrorCode::unsupported, fmt::format("no kernel for {}({}) on {}",
                                              query.op->name, types, device)};
}

}  // namespace plimsoll::ops
