#include "ops/onednn/onednn_layout.h"

#include <span>

namespace plimsoll::ops {
namespace {

using Numbers = std::vector<std::int64_t>;

Error unknown(const char* what) {
  return {ErrorCode::unsupported,
          std::string("oneDNN's format has no known ") + what};
}

bool is_row_major(const graph::Layout& layout) {
  std::int64_t place = 1;
  for (std::size_t i = layout.extents.size(); i-- > 0;) {
    if (layout.extents[i] > 1 && layout.strides[i] != place) return false;
    place *= layout.extents[i];
  }
  return layout.block_axes.empty();
}

std::span<const dnnl_dim_t> query(const_dnnl_memory_desc_t desc,
                                  dnnl_query_t what, int count) {
  const dnnl_dims_t* values = nullptr;
  if (dnnl_memory_desc_query(desc, what, static_cast<void*>(&values)) !=
      dnnl_success) {
    return {};
  }
  return {*values, static_cast<std::size_t>(count)};
}

}  // namespace

Result<graph::Layout> onednn_layout(const_dnnl_memory_desc_t desc,
                                    const std::vector<int>& axes) {
  dnnl_format_kind_t kind = dnnl_format_kind_undef;
  int rank = 0;
  int blocks = 0;
  if (desc == nullptr ||
      dnnl_memory_desc_query(desc, dnnl_query_format_kind, &kind) !=
          dnnl_success ||
      kind != dnnl_blocked ||
      dnnl_memory_desc_query(desc, dnnl_query_ndims_s32, &rank) !=
          dnnl_success ||
      dnnl_memory_desc_query(desc, dnnl_query_inner_nblks_s32, &blocks) !=
          dnnl_success ||
      static_cast<std::size_t>(rank) != axes.size()) {
    return unknown("blocks");
  }
  const auto dims = query(desc, dnnl_query_dims, rank);
  const auto strides = query(desc, dnnl_query_strides, rank);
  const auto sizes = query(desc, dnnl_query_inner_blks, blocks);
  const auto places = query(desc, dnnl_query_inner_idxs, blocks);
  if (dims.empty() || strides.empty() ||
      (blocks > 0 && (sizes.empty() || places.empty()))) {
    return unknown("places");
  }
  graph::Layout layout;
  layout.extents.resize(axes.size());
  layout.strides.resize(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    layout.extents[static_cast<std::size_t>(axes[i])] = dims[i];
    layout.strides[static_cast<std::size_t>(axes[i])] = strides[i];
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    layout.block_axes.push_back(axes[static_cast<std::size_t>(places[i])]);
    layout.block_sizes.push_back(sizes[i]);
  }
  PLIMSOLL_RETURN_IF_ERROR(graph::digits_of(layout));
  const auto bytes = static_cast<std::int64_t>(dnnl_memory_desc_get_size(desc));
  dnnl_data_type_t dtype = dnnl_data_type_undef;
  dnnl_memory_desc_query(desc, dnnl_query_data_type, &dtype);
  const auto element = static_cast<std::int64_t>(dnnl_data_type_size(dtype));
  // Padding that blocks alone do not explain, or more than the elements.
  if (bytes != layout.elements() * element) return unknown("size");
  if (is_row_major(layout)) return graph::Layout();
  return layout;
}

}  // namespace plimsoll::ops
