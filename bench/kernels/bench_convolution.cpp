// Convolutions on a GPU, layer by layer: ResNet-50's at batch 256, then some of
// other networks. Weights' gradients are in f32, as training has them.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <string>

#include "device/cpu/process_memory.h"
#include "device/cuda_device.h"
#include "kernels/device_timer.h"
#include "ops/convolution/conv_shape.h"
#include "ops/convolution/convolution.h"
#include "ops/registry.h"

namespace plimsoll {
namespace {

struct Layer {
  std::int64_t times, size, channels, filters, kernel, stride;
  bool depthwise = false;
  bool same = false;  // TensorFlow's padding, at even sizes one-sided
};

constexpr Layer kLayers[] = {
    {1, 224, 3, 64, 7, 2},
    {1, 56, 64, 64, 1, 1},
    {2, 56, 256, 64, 1, 1},
    {3, 56, 64, 64, 3, 1},
    {4, 56, 64, 256, 1, 1},
    {1, 56, 256, 128, 1, 1},
    {1, 56, 128, 128, 3, 2},
    {3, 28, 512, 128, 1, 1},
    {3, 28, 128, 128, 3, 1},
    {4, 28, 128, 512, 1, 1},
    {1, 56, 256, 512, 1, 2},
    {1, 28, 512, 256, 1, 1},
    {1, 28, 256, 256, 3, 2},
    {5, 14, 1024, 256, 1, 1},
    {5, 14, 256, 256, 3, 1},
    {6, 14, 256, 1024, 1, 1},
    {1, 28, 512, 1024, 1, 2},
    {1, 14, 1024, 512, 1, 1},
    {1, 14, 512, 512, 3, 2},
    {2, 7, 2048, 512, 1, 1},
    {2, 7, 512, 512, 3, 1},
    {3, 7, 512, 2048, 1, 1},
    {1, 14, 1024, 2048, 1, 2},
    {0, 112, 32, 32, 3, 1, true},
    {0, 56, 96, 96, 7, 1, true},
    {0, 14, 384, 384, 3, 1, true},
    {0, 224, 3, 32, 3, 2},
    {0, 112, 32, 16, 1, 1},
    {0, 112, 16, 96, 1, 1},
    {0, 56, 144, 24, 1, 1},
    {0, 7, 320, 1280, 1, 1},
    {0, 112, 64, 128, 3, 1},
    {0, 64, 1, 32, 3, 1},
    {0, 28, 100, 30, 3, 1},
    {0, 224, 3, 64, 7, 2, false, true},
    {0, 56, 128, 128, 3, 2, false, true},
    {0, 28, 256, 256, 3, 2, false, true},
    {0, 14, 512, 512, 3, 2, false, true},
    {0, 18, 32, 40, 3, 2, false, true},
};

class Bench {
 public:
  Bench(CudaDevice& device, Stream& stream, bool tf32, DType dtype)
      : timer_(device, stream, {tf32}), dtype_(dtype) {}

  // Adds the seconds of forward and of both gradients.
  Status run(const Layer& layer, std::int64_t batch, double& seconds,
             double& flops) {
    ops::Conv2dSettings settings;
    settings.strides = {layer.stride, layer.stride};
    const std::int64_t pad = layer.kernel / 2;
    settings.padding = {pad, pad, pad, pad};
    if (layer.same) {
      settings = ops::same_padding(settings, layer.size, layer.size,
                                   layer.kernel, layer.kernel);
    }
    settings.groups = layer.depthwise ? layer.channels : 1;
    const std::int64_t out =
        ops::conv_extent(settings, 0, layer.size, layer.kernel);
    const Shape x = {batch, layer.size, layer.size, layer.channels};
    const Shape w = {layer.filters, layer.kernel, layer.kernel,
                     layer.channels / settings.groups};
    const Shape y = {batch, out, out, layer.filters};
    fmt::print("{:>2} x {:>16} by {:>16}", layer.times, x.to_string(),
               w.to_string());
    graph::Attrs attrs = ops::attrs_of(settings);
    attrs.set("input_shape", x);
    attrs.set("kernel_shape", w);
    const struct {
      const char* op;
      Shape a, b, c;
    } kinds[] = {{"conv2d", x, w, y},
                 {"conv2d_data_grad", y, w, x},
                 {"conv2d_weight_grad", y, x, w}};
    for (const auto& [op, a, b, c] : kinds) {
      const bool weights = op == kinds[2].op && size_of(dtype_) == 2;
      const graph::TensorType inputs[] = {{dtype_, a}, {dtype_, b}};
      const graph::TensorType outputs[] = {{weights ? DType::f32 : dtype_, c}};
      if (weights) attrs.set("out", std::string("f32"));
      const graph::KernelQuery query{ops::find_op(op), inputs, outputs, &attrs};
      PLIMSOLL_ASSIGN(const double one, time(query));
      const double work =
          query.op->cost(query.inputs, query.outputs, attrs).flops;
      seconds += static_cast<double>(layer.times) * one;
      flops += static_cast<double>(layer.times) * work;
    }
    PLIMSOLL_ASSIGN(const ProcessMemory now, read_process_memory(getpid()));
    fmt::print("  host {} MiB\n", now.resident_bytes() >> 20);
    return {};
  }

 private:
  Result<double> time(const graph::KernelQuery& query) {
    PLIMSOLL_ASSIGN(const bench::DeviceTime took, timer_.time(query));
    const double work =
        query.op->cost(query.inputs, query.outputs, *query.attrs).flops;
    fmt::print("{} {:.0f} us {:.1f} TFLOP/s", took.algorithms,
               took.seconds * 1e6, work / took.seconds * 1e-12);
    return took.seconds;
  }

  bench::DeviceTimer timer_;
  DType dtype_;
};

Status run(std::int64_t batch, const std::string& dtype_name, bool tf32) {
  const auto dtype = parse_dtype(dtype_name);
  if (!dtype) return Error{ErrorCode::bad_input, "no such dtype"};
  PLIMSOLL_ASSIGN(CudaModule* const module, open_cuda_module());
  PLIMSOLL_ASSIGN(const auto device, module->open(0, module_program()));
  PLIMSOLL_ASSIGN(const auto stream, device->make_stream());
  Bench bench(*device, *stream, tf32, *dtype);
  double seconds = 0;
  double flops = 0;
  for (const Layer& layer : kLayers) {
    if (auto ran = bench.run(layer, batch, seconds, flops); !ran) {
      fmt::print(" {}\n", ran.error().message);
    }
  }
  fmt::print("all of ResNet-50's: {:.2f} ms, {:.1f} TFLOP/s\n", seconds * 1e3,
             flops / seconds * 1e-12);
  return {};
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  CLI::App app("Times convolutions on a GPU");
  std::int64_t batch = 256;
  std::string dtype = "bf16";
  bool tf32 = false;
  app.add_option("--batch", batch);
  app.add_option("--dtype", dtype);
  app.add_flag("--tf32", tf32);
  CLI11_PARSE(app, argc, argv);
  if (auto ran = plimsoll::run(batch, dtype, tf32); !ran) {
    fmt::print(stderr, "{}\n", ran.error().message);
    return 1;
  }
  return 0;
}
