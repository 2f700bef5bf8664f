#include "ops/pooling/pooling_library_cuda.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/units.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

// Numbers that it may count elements in.
constexpr std::int64_t kMostElements = (std::int64_t{1} << 31) - 1;
// Its kernels read so many channels at once.
constexpr std::int64_t kChannelGrain = 8;
// None of its engines used any.
constexpr std::int64_t kWorkspace = 64 * kKiB;

// Up to so many reads functions of ours cost less than the library.
constexpr std::int64_t kFewReads = std::int64_t{1} << 26;

std::array<std::int64_t, 4> extents_of(const Shape& shape) {
  return {shape.extent(0), shape.extent(1), shape.extent(2), shape.extent(3)};
}

template <std::size_t kCount>
std::array<std::int64_t, kCount> numbers_of(const graph::Attrs& attrs,
                                            const std::string& name) {
  const auto list = attrs.get<std::vector<std::int64_t>>(name);
  std::array<std::int64_t, kCount> numbers{};
  std::copy_n(list.begin(), kCount, numbers.begin());
  return numbers;
}

bool suits_library(const graph::TensorType& dy, const Shape& images) {
  return size_of(dy.dtype) == 2 &&
         std::max(images.elements(), dy.shape.elements()) <= kMostElements &&
         images.extent(-1) % kChannelGrain == 0;
}

// Whether it is faster than functions of ours: from 3 x 3 around every pixel,
// by a tenth at most. Other windows were not tried, or are slower.
bool pays(const cuda::AveragePoolGrad& of, std::int64_t results) {
  cuda::AveragePoolGrad around = of;
  around.window = {3, 3};
  around.strides = {1, 1};
  around.padding = {1, 1, 1, 1};
  return of == around && 9 * results > kFewReads;
}

}  // namespace

std::optional<cuda::OpCode> library_pooling(const KernelQuery& query,
                                            const CudaSettings& settings) {
  const graph::TensorType& dy = query.inputs[0];
  const Shape& images = query.outputs[0].shape;
  if (!settings.library_layers || query.op->name != "avg_pool2d_grad" ||
      !suits_library(dy, images)) {
    return {};
  }
  cuda::AveragePoolGrad made;
  made.dtype = dy.dtype;
  made.images = extents_of(images);
  made.result = extents_of(dy.shape);
  made.window = numbers_of<2>(*query.attrs, "window");
  made.strides = numbers_of<2>(*query.attrs, "strides");
  made.padding = numbers_of<4>(*query.attrs, "padding");
  made.workspace_bytes = kWorkspace;
  if (!settings.library_wherever && !pays(made, dy.shape.elements())) return {};
  cuda::OpCode code;
  code.name = fmt::format("{}{}", query.op->name, kCompiledLayer);
  code.scratch_bytes = made.workspace_bytes;
  code.stages.emplace_back(made);
  return code;
}

}  // namespace plimsoll::ops
