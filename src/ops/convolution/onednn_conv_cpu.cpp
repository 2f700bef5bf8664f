#include "ops/convolution/onednn_conv_cpu.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "device/cpu/compute_threads.h"
#include "ops/cpu_kernels.h"
#include "ops/onednn/onednn_kernel.h"
#include "ops/onednn/onednn_layout.h"
#include "ops/simd/isa.h"

namespace plimsoll::ops {
namespace {

// Estimates that only rank candidates, measured on Ice Lake at 2.8 GHz: one
// core with 512-bit registers.
constexpr double kCallSeconds = 4e-6;
constexpr double kBlockedFlops = 130e9;
constexpr double kWeightFlops = 100e9;
constexpr double kStridedWeightFlops = 45e9;
constexpr double kStridedHalfWeightFlops = 65e9;  // on a Zen 5, by kWeightFlops
constexpr double kDepthwiseFlops = 30e9;
constexpr double kEmulated = 0.25;  // of a rate: bf16 by f32's instructions
constexpr double kPackedElements = 1e9;  // a second
constexpr double kBytes = 10e9;

// Over 657 shapes and passes the resident set grew by 50 KiB a primitive,
// 148 KiB at most.
constexpr std::int64_t kConvBytes = kOnednnPrimitiveBytes / 2;

std::string_view name_of(ConvPass pass) {
  switch (pass) {
    case ConvPass::data_grad:
      return "conv2d_data_grad";
    case ConvPass::weight_grad:
      return "conv2d_weight_grad";
    default:
      return "conv2d";
  }
}

// The library's axes [G,] O, I, H, W of weights that lie as [G,] O, H, W, I.
std::vector<int> weight_axes(const ConvShape& shape) {
  if (shape.settings.groups == 1) return {0, 3, 1, 2};
  return {0, 1, 4, 2, 3};
}

DnnlMemoryDesc images(std::int64_t batch, std::int64_t channels,
                      const std::array<std::int64_t, 2>& size, DType dtype) {
  const dnnl_dims_t dims = {batch, channels, size[0], size[1]};
  dnnl_memory_desc_t desc = nullptr;
  dnnl_memory_desc_create_with_tag(&desc, 4, dims, onednn_type(dtype),
                                   dnnl_nhwc);
  return DnnlMemoryDesc(desc);
}

DnnlMemoryDesc any_weights(const ConvShape& shape, DType dtype) {
  const std::int64_t groups = shape.settings.groups;
  const dnnl_dims_t grouped = {groups, shape.filters_per_group(),
                               shape.channels_per_group(), shape.kernel[0],
                               shape.kernel[1]};
  dnnl_memory_desc_t desc = nullptr;
  dnnl_memory_desc_create_with_tag(&desc, groups > 1 ? 5 : 4,
                                   groups > 1 ? grouped : grouped + 1,
                                   onednn_type(dtype), dnnl_format_tag_any);
  return DnnlMemoryDesc(desc);
}

struct Conv {
  DnnlMemoryDesc x, bias, y;
  DnnlPrimitiveDesc forward;  // a gradient's descriptor refers to it
  DnnlPrimitiveDesc desc;
  graph::Layout weights;

  const_dnnl_memory_desc_t weights_desc(ConvPass pass) const {
    return pass == ConvPass::weight_grad
               ? dnnl_primitive_desc_query_md(desc.get(),
                                              dnnl_query_diff_weights_md, 0)
               : dnnl_primitive_desc_query_md(desc.get(), dnnl_query_weights_md,
                                              0);
  }
};

DnnlPrimitiveDesc describe(const ConvShape& shape, ConvPass pass, Conv& conv,
                           DType dtype) {
  const DnnlMemoryDesc w = any_weights(shape, dtype);
  const DnnlMemoryDesc dw = any_weights(shape, shape.wide ? DType::f32 : dtype);
  const Conv2dSettings& set = shape.settings;
  const dnnl_dims_t strides = {set.strides[0], set.strides[1]};
  // Nothing is dilated in a kernel of one pixel, but the library minds.
  const auto dilate = [&](std::size_t axis) {
    return shape.kernel[axis] > 1 ? set.dilations[axis] - 1 : 0;
  };
  const dnnl_dims_t dilates = {dilate(0), dilate(1)};
  const dnnl_dims_t before = {set.padding[0], set.padding[2]};
  const dnnl_dims_t after = {set.padding[1], set.padding[3]};
  const DnnlAttr attr = onednn_attr(shape.relu);
  const dnnl_engine_t engine = dnnl_cpu_runtime().engine;
  dnnl_primitive_desc_t desc = nullptr;
  dnnl_status_t status = dnnl_convolution_forward_primitive_desc_create(
      &desc, engine, dnnl_forward_training, dnnl_convolution_direct,
      conv.x.get(), w.get(), conv.bias.get(), conv.y.get(), strides, dilates,
      before, after, attr.get());
  DnnlPrimitiveDesc made(status == dnnl_success ? desc : nullptr);
  if (!made || pass == ConvPass::forward) return made;
  conv.forward = std::move(made);
  desc = nullptr;
  status = pass == ConvPass::data_grad
               ? dnnl_convolution_backward_data_primitive_desc_create(
                     &desc, engine, dnnl_convolution_direct, conv.x.get(),
                     w.get(), conv.y.get(), strides, dilates, before, after,
                     conv.forward.get(), attr.get())
               : dnnl_convolution_backward_weights_primitive_desc_create(
                     &desc, engine, dnnl_convolution_direct, conv.x.get(),
                     dw.get(), nullptr, conv.y.get(), strides, dilates, before,
                     after, conv.forward.get(), attr.get());
  return DnnlPrimitiveDesc(status == dnnl_success ? desc : nullptr);
}

// Kernels of one pixel that skip some write the pixels they keep into scratch
// for whole vectors of 16 channels: with fewer, past its end.
bool overruns_scratch(const ConvShape& shape, ConvPass pass) {
  const auto& [down, right] = shape.settings.strides;
  return pass == ConvPass::weight_grad && shape.kernel[0] == 1 &&
         shape.kernel[1] == 1 && (down > 1 || right > 1) &&
         shape.channels_per_group() < 16;
}

// Where it reads parts of its scratch that it never wrote: over images narrower
// than the stride, and over rows apart with a part of a block of channels.
bool reads_stale_scratch(const ConvShape& shape) {
  const Conv2dSettings& set = shape.settings;
  return shape.in[1] < set.strides[1] ||
         (set.dilations[0] > 1 && shape.kernel[0] > 1 &&
          shape.channels_per_group() % 16 != 0);
}

// Gradients that the library (seen: 3.2) gets wrong with AVX-512; in bf16 also
// those of depthwise convolutions before 3.4.2. No processor that makes f16 has
// been tried: the same are left out there.
bool is_wrong(const ConvShape& shape, ConvPass pass, DType dtype) {
  if (overruns_scratch(shape, pass)) return true;
  if (dtype == DType::f32 || pass == ConvPass::forward) return false;
  return shape.is_depthwise() ||
         (pass == ConvPass::weight_grad && reads_stale_scratch(shape));
}

// No descriptor: not for the library.
Conv choose(const ConvShape& shape, ConvPass pass, DType dtype) {
  Conv conv;
  if (!dnnl_cpu_runtime().ok || shape.batch == 0) return conv;
  if (!onednn_counts({shape.batch * shape.in[0] * shape.in[1],
                      shape.batch * shape.out[0] * shape.out[1], shape.channels,
                      shape.filters})) {
    return conv;
  }
  if (is_wrong(shape, pass, dtype)) return conv;
  conv.x = images(shape.batch, shape.channels, shape.in, dtype);
  conv.y = images(shape.batch, shape.filters, shape.out, dtype);
  if (shape.bias) {
    const dnnl_dims_t dims = {shape.filters};
    dnnl_memory_desc_t desc = nullptr;
    dnnl_memory_desc_create_with_tag(&desc, 1, dims, onednn_type(dtype),
                                     dnnl_x);
    conv.bias.reset(desc);
  }
  conv.desc = onednn_first(
      describe(shape, pass, conv, dtype), [&](const DnnlPrimitiveDesc& desc) {
        if (onednn_allocates(onednn_implementation(desc))) return false;
        const auto query = pass == ConvPass::weight_grad
                               ? dnnl_query_diff_weights_md
                               : dnnl_query_weights_md;
        const auto layout =
            onednn_layout(dnnl_primitive_desc_query_md(desc.get(), query, 0),
                          weight_axes(shape));
        if (layout) conv.weights = *layout;
        return layout.ok();
      });
  return conv;
}

std::string name_of(const Conv& conv, ConvPass pass, int threads) {
  return fmt::format("{}:onednn:{}:t{}", name_of(pass),
                     onednn_implementation(conv.desc), threads);
}

// Blocks of channels that are padded do their work for nothing.
double filled(std::int64_t channels) {
  return std::min(1.0, static_cast<double>(channels) / 16);
}

// Of the rate, where images have less than 16 channels: in f32, and in 16 bits
// on a Zen 5.
double few_channels(const ConvShape& shape, ConvPass pass, bool in_halves) {
  if (pass == ConvPass::data_grad) {
    return 0.6 * filled(shape.channels_per_group());
  }
  if (!in_halves) return 0.4;
  return pass == ConvPass::forward ? 0.7 : 1;
}

double seconds(const Conv& conv, const ConvShape& shape, ConvPass pass,
               DType dtype, int threads) {
  const std::string_view name = onednn_implementation(conv.desc);
  const auto has = [&](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  };
  const bool emulated =
      dtype == DType::bf16 && !has("amx") && !has("core_bf16");
  const bool in_halves = dtype != DType::f32 && !emulated;
  double rate = kBlockedFlops;
  if (pass == ConvPass::weight_grad) {
    const bool strided = shape.settings.strides[1] > 1 && shape.kernel[1] > 1;
    rate = !strided    ? kWeightFlops
           : in_halves ? kStridedHalfWeightFlops
                       : kStridedWeightFlops;
  }
  if (shape.is_depthwise()) {
    rate = kDepthwiseFlops;
  } else {
    rate *= filled(shape.filters_per_group());
    if (shape.channels_per_group() < 16) {
      rate *= few_channels(shape, pass, in_halves);
    }
  }
  if (emulated) rate *= kEmulated;
  if (in_halves) rate *= has("amx") ? 8 : 1.7;
  if (best_isa() != Isa::v4) rate /= 2;
  double seconds =
      shape.flops() / rate +
      shape.pixels() * static_cast<double>(size_of(dtype)) / kBytes;
  if (conv.weights.is_packed()) {
    seconds += static_cast<double>(conv.weights.elements()) / kPackedElements;
  }
  return kCallSeconds + seconds / threads;
}

}  // namespace

std::vector<graph::KernelCandidate> onednn_conv_candidates(
    const ConvShape& shape, ConvPass pass, DType dtype,
    ComputeThreads& threads) {
  std::vector<graph::KernelCandidate> found;
  threads.enter([&] {
    const Conv conv = choose(shape, pass, dtype);
    if (!conv.desc) return;
    graph::KernelCandidate candidate;
    candidate.name = name_of(conv, pass, threads.size());
    candidate.scratch_bytes = onednn_scratch_bytes(conv.desc);
    candidate.private_bytes = kConvBytes;
    candidate.seconds = seconds(conv, shape, pass, dtype, threads.size());
    if (conv.weights.is_packed()) {
      if (pass == ConvPass::weight_grad) {
        candidate.output_layouts = {conv.weights};
      } else {
        candidate.input_layouts = {{}, conv.weights};
      }
    }
    found.push_back(std::move(candidate));
  });
  return found;
}

bool is_onednn_conv(const graph::KernelCandidate& candidate) {
  return candidate.name.find(":onednn:") != std::string::npos;
}

Result<std::unique_ptr<Kernel>> make_onednn_conv(
    const ConvShape& shape, ConvPass pass, DType dtype,
    const graph::KernelCandidate& candidate, ComputeThreads& threads) {
  using Of = OnednnOperand::Of;
  Result<std::unique_ptr<Kernel>> made = Error{};
  threads.enter([&] {
    const Conv conv = choose(shape, pass, dtype);
    const std::string name =
        conv.desc ? name_of(conv, pass, threads.size()) : "nothing";
    if (name != candidate.name) {
      made = Error{ErrorCode::unsupported,
                   fmt::format("the plan needs {}, this machine has {}",
                               candidate.name, name)};
      return;
    }
    const_dnnl_memory_desc_t w = conv.weights_desc(pass);
    std::vector<OnednnOperand> operands;
    if (pass == ConvPass::forward) {
      operands = {{DNNL_ARG_SRC, conv.x.get(), Of::input, 0},
                  {DNNL_ARG_WEIGHTS, w, Of::input, 1},
                  {DNNL_ARG_DST, conv.y.get(), Of::output, 0}};
      if (shape.bias) {
        operands.push_back({DNNL_ARG_BIAS, conv.bias.get(), Of::input, 2});
      }
    } else if (pass == ConvPass::data_grad) {
      operands = {{DNNL_ARG_DIFF_DST, conv.y.get(), Of::input, 0},
                  {DNNL_ARG_WEIGHTS, w, Of::input, 1},
                  {DNNL_ARG_DIFF_SRC, conv.x.get(), Of::output, 0}};
    } else {
      operands = {{DNNL_ARG_DIFF_DST, conv.y.get(), Of::input, 0},
                  {DNNL_ARG_SRC, conv.x.get(), Of::input, 1},
                  {DNNL_ARG_DIFF_WEIGHTS, w, Of::output, 0}};
    }
    made = make_onednn_kernel(conv.desc, operands);
  });
  return made;
}

}  // namespace plimsoll::ops
