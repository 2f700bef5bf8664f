// References of pack, unpack, concat, split, slice, pad and expand: element by
// element, by its place along each axis.
#pragma once

#include "ops/reference.h"

namespace plimsoll::ops {

void pack_values(const std::vector<RefTensor>& inputs,
                 const graph::Attrs& attrs, std::vector<RefTensor>& outputs);
void unpack_values(const std::vector<RefTensor>& inputs,
                   const graph::Attrs& attrs, std::vector<RefTensor>& outputs);
void concat_values(const std::vector<RefTensor>& inputs,
                   const graph::Attrs& attrs, std::vector<RefTensor>& outputs);
void split_values(const std::vector<RefTensor>& inputs,
                  const graph::Attrs& attrs, std::vector<RefTensor>& outputs);
void slice_values(const std::vector<RefTensor>& inputs,
                  const graph::Attrs& attrs, std::vector<RefTensor>& outputs);
void pad_values(const std::vector<RefTensor>& inputs, const graph::Attrs& attrs,
                std::vector<RefTensor>& outputs);
void expand_values(const std::vector<RefTensor>& inputs,
                   const graph::Attrs& attrs, std::vector<RefTensor>& outputs);

}  // namespace plimsoll::ops
