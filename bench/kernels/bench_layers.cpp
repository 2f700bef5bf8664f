// Attention, normalization and pooling on a GPU, at sizes of known networks:
// each op by itself, forward and backward.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "device/cpu/process_memory.h"
#include "device/cuda_device.h"
#include "kernels/device_timer.h"
#include "ops/normalization/norm_form.h"
#include "ops/registry.h"

namespace plimsoll {
namespace {

using graph::Attrs;
using graph::TensorType;
using graph::TypeList;
using ops::NormKind;

class Bench {
 public:
  Bench(CudaDevice& device, Stream& stream, DType dtype, std::string_view only,
        const ops::CudaSettings& settings)
      : timer_(device, stream, settings), dtype_(dtype), only_(only) {}

  Status attention(std::int64_t batch, std::int64_t length, std::int64_t heads,
                   std::int64_t width, bool causal) {
    const TensorType q{dtype_, {batch, length, heads, width}};
    const TensorType lse{wide(), {batch, heads, length}};
    Attrs attrs;
    if (causal) attrs.set("causal", true);
    PLIMSOLL_RETURN_IF_ERROR(time("attention", {q, q, q}, attrs));
    return time("attention_grad", {q, q, q, q, q, lse}, attrs);
  }

  Status norm(NormKind kind, const Shape& x) {
    for (const bool gradient : {false, true}) {
      Attrs attrs;
      attrs.set("epsilon", 1e-5);
      const ops::NormForm form = ops::norm_form(kind, gradient, attrs);
      const Shape channels = {x.extent(-1)};
      const Shape statistic =
          kind == NormKind::batch
              ? channels
              : Shape({x.dims().begin(), x.dims().end() - 1});
      TypeList inputs(static_cast<std::size_t>(form.inputs),
                      {wide(), channels});
      const auto set = [&](int position, DType dtype, const Shape& shape) {
        if (position < 0) return;
        inputs[static_cast<std::size_t>(position)] = {dtype, shape};
      };
      set(form.dy, dtype_, x);
      set(form.x, dtype_, x);
      set(form.mean, wide(), statistic);
      set(form.deviation, wide(), statistic);
      PLIMSOLL_RETURN_IF_ERROR(
          time(ops::norm_name(kind, gradient), inputs, attrs));
    }
    return {};
  }

  Status pool(std::string_view op, const Shape& x, std::int64_t window,
              std::int64_t stride, std::int64_t pad) {
    Attrs attrs;
    attrs.set("window", std::vector<std::int64_t>{window, window});
    attrs.set("strides", std::vector<std::int64_t>{stride, stride});
    attrs.set("padding", std::vector<std::int64_t>{pad, pad, pad, pad});
    const TypeList images = {{dtype_, x}};
    PLIMSOLL_RETURN_IF_ERROR(time(op, images, attrs));
    PLIMSOLL_ASSIGN(TypeList results, ops::find_op(op)->infer(images, attrs));
    attrs.set("height", x.extent(1));
    attrs.set("width", x.extent(2));
    return time(fmt::format("{}_grad", op), results, attrs);
  }

 private:
  DType wide() const { return dtype_ == DType::f64 ? DType::f64 : DType::f32; }

  Status time(std::string_view name, const TypeList& inputs,
              const Attrs& attrs) {
    if (name.find(only_) == std::string_view::npos) return {};
    const graph::OpDef* const op = ops::find_op(name);
    PLIMSOLL_ASSIGN(const TypeList outputs, op->infer(inputs, attrs));
    const graph::KernelQuery query{op, inputs, outputs, &attrs};
    const auto took = timer_.time(query);
    fmt::print("{:>16} {:>24}", name, inputs[0].to_string());
    if (!took) {
      fmt::print("  {}\n", took.error().message);
      return {};
    }
    const graph::Cost cost = op->cost(inputs, outputs, attrs);
    PLIMSOLL_ASSIGN(const ProcessMemory now, read_process_memory(getpid()));
    fmt::print(
        " {:>8.1f} us {:>6.1f} TFLOP/s {:>6.2f} TB/s  scratch {:.1f} MiB, host "
        "{} MiB  {}{}\n",
        took->seconds * 1e6, cost.flops / took->seconds * 1e-12,
        cost.bytes / took->seconds * 1e-12,
        static_cast<double>(took->scratch_bytes) / (1 << 20),
        now.resident_bytes() >> 20, took->name, took->algorithms);
    return {};
  }

  bench::DeviceTimer timer_;
  DType dtype_;
  std::string_view only_;
};

Status run(const std::string& dtype_name, std::string_view only,
           const ops::CudaSettings& settings) {
  const auto dtype = parse_dtype(dtype_name);
  if (!dtype) return Error{ErrorCode::bad_input, "no such dtype"};
  PLIMSOLL_ASSIGN(CudaModule* const module, open_cuda_module());
  PLIMSOLL_ASSIGN(const auto device, module->open(0, module_program()));
  PLIMSOLL_ASSIGN(const auto stream, device->make_stream());
  Bench bench(*device, *stream, *dtype, only, settings);
  for (const Status& ran : {bench.attention(16, 1024, 12, 64, true),
                            bench.attention(16, 512, 12, 64, false),
                            bench.attention(4, 4096, 16, 128, true),
                            bench.norm(NormKind::batch, {256, 56, 56, 256}),
                            bench.norm(NormKind::batch, {256, 112, 112, 64}),
                            bench.norm(NormKind::batch, {256, 7, 7, 2048})}) {
    PLIMSOLL_RETURN_IF_ERROR(ran);
  }
  for (const NormKind kind : {NormKind::layer, NormKind::rms}) {
    for (const Shape& x :
         {Shape{16384, 768}, Shape{16384, 1024}, Shape{1024, 4096},
          Shape{2048, 4096}, Shape{4096, 4096}, Shape{8192, 4096},
          Shape{4096, 5120}, Shape{4096, 6144}, Shape{4096, 8192},
          Shape{2048, 16384}, Shape{1024, 32768}, Shape{512, 65536},
          Shape{65536, 64}, Shape{100352, 96}}) {
      PLIMSOLL_RETURN_IF_ERROR(bench.norm(kind, x));
    }
  }
  for (const Status& ran :
       {bench.pool("max_pool2d", {256, 112, 112, 64}, 3, 2, 1),
        bench.pool("max_pool2d", {256, 56, 56, 64}, 2, 2, 0),
        bench.pool("max_pool2d", {32, 224, 224, 64}, 2, 2, 0),
        bench.pool("max_pool2d", {64, 14, 14, 512}, 2, 2, 0),
        bench.pool("max_pool2d", {64, 35, 35, 288}, 3, 2, 0),
        bench.pool("max_pool2d", {16, 20, 20, 512}, 5, 1, 2),
        bench.pool("max_pool2d", {16, 20, 20, 512}, 9, 1, 4),
        bench.pool("max_pool2d", {64, 28, 28, 256}, 11, 1, 5),
        bench.pool("max_pool2d", {16, 20, 20, 512}, 13, 1, 6),
        bench.pool("avg_pool2d", {256, 7, 7, 2048}, 7, 7, 0),
        bench.pool("avg_pool2d", {64, 35, 35, 192}, 3, 1, 1),
        bench.pool("avg_pool2d", {64, 17, 17, 768}, 3, 1, 1),
        bench.pool("avg_pool2d", {32, 56, 56, 256}, 5, 1, 2),
        bench.pool("avg_pool2d", {64, 56, 56, 128}, 3, 2, 1),
        bench.pool("avg_pool2d", {64, 56, 56, 256}, 56, 56, 0),
        bench.pool("avg_pool2d", {256, 56, 56, 128}, 2, 2, 0)}) {
    PLIMSOLL_RETURN_IF_ERROR(ran);
  }
  return {};
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  CLI::App app("Times attention, normalization and pooling on a GPU");
  std::string dtype = "bf16";
  std::string only;
  bool own = false;
  bool library = false;
  app.add_option("--dtype", dtype);
  app.add_option("--only", only, "ops with this in their names");
  app.add_flag("--own", own, "kernels of ours alone");
  app.add_flag("--library", library,
               "cuDNN's normalization and pooling wherever it can")
      ->excludes("--own");
  CLI11_PARSE(app, argc, argv);
  if (auto ran = plimsoll::run(
          dtype, only, {.library_layers = !own, .library_wherever = library});
      !ran) {
    fmt::print(stderr, "{}\n", ran.error().message);
    return 1;
  }
  return 0;
}
