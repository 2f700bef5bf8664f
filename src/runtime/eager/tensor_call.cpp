#include "runtime/eager/tensor_call.h"

#include "runtime/eager/tensor_value.h"

namespace plimsoll::runtime {

std::vector<Tensor> all_built(const char* name,
                              const std::vector<Tensor>& operands,
                              const Build& build) {
  Values values;
  for (const Tensor& operand : operands) {
    values.push_back(value_of(operand, name));
  }
  auto made = invoke(values, build);
  if (!made) {
    Error error = made.error();
    if (error.code == ErrorCode::bad_input &&
        !error.message.starts_with(name)) {
      error.message = fmt::format("{}: {}", name, error.message);
    }
    throw_error(error);
  }
  std::vector<Tensor> tensors;
  for (ValuePtr& value : *made) tensors.emplace_back(std::move(value));
  return tensors;
}

Tensor built(const char* name, const std::vector<Tensor>& operands,
             const BuildOne& build) {
  return all_built(name, operands, [&](graph::Builder& builder, auto ids) {
    return std::vector<graph::ValueId>{build(builder, ids)};
  })[0];
}

void refuse(graph::Builder& builder, const char* name, graph::ValueId operand,
            std::string_view why) {
  builder.fail({ErrorCode::bad_input,
                fmt::format("{} of {}: {}", name,
                            builder.type(operand).to_string(), why)});
}

}  // namespace plimsoll::runtime
