// The three products of dense layers with few units on a GPU, each by itself:
// forward with its bias, the gradient of the weights, that of the input.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <string>

#include "device/cuda_device.h"
#include "kernels/device_timer.h"
#include "ops/registry.h"

namespace plimsoll {
namespace {

using graph::Attrs;
using graph::TensorType;
using graph::TypeList;

class Bench {
 public:
  Bench(CudaDevice& device, Stream& stream, DType dtype)
      : timer_(device, stream, {}), dtype_(dtype) {}

  Status layer(std::int64_t batch, std::int64_t features, std::int64_t units) {
    const TensorType x{dtype_, {batch, features}};
    const TensorType w{dtype_, {features, units}};
    const TensorType dy{dtype_, {batch, units}};
    const TensorType bias{DType::f32, {units}};
    // Parameters and what losses read are f32.
    const std::string wide = "f32";
    PLIMSOLL_RETURN_IF_ERROR(time({x, w, bias}, {{"out", wide}}));
    PLIMSOLL_RETURN_IF_ERROR(
        time({x, dy}, {{"transpose_a", true}, {"out", wide}}));
    return time({dy, w}, {{"transpose_b", true}});
  }

 private:
  Status time(const TypeList& inputs, Attrs attrs) {
    const graph::OpDef* const op = ops::find_op("matmul");
    PLIMSOLL_ASSIGN(const TypeList outputs, op->infer(inputs, attrs));
    const auto took = timer_.time({op, inputs, outputs, &attrs});
    fmt::print("{:>18}{} x {:>18}{}", inputs[0].to_string(),
               attrs.has("transpose_a") ? "'" : " ", inputs[1].to_string(),
               attrs.has("transpose_b") ? "'" : " ");
    if (!took) {
      fmt::print("  {}\n", took.error().message);
      return {};
    }
    const graph::Cost cost = op->cost(inputs, outputs, attrs);
    fmt::print(" {:>8.1f} us {:>6.2f} TB/s  {}{}\n", took->seconds * 1e6,
               cost.bytes / took->seconds * 1e-12, took->name,
               took->algorithms);
    return {};
  }

  bench::DeviceTimer timer_;
  DType dtype_;
};

Status run(const std::string& dtype_name) {
  const auto dtype = parse_dtype(dtype_name);
  if (!dtype) return Error{ErrorCode::bad_input, "no such dtype"};
  PLIMSOLL_ASSIGN(CudaModule* const module, open_cuda_module());
  PLIMSOLL_ASSIGN(const auto device, module->open(0, module_program()));
  PLIMSOLL_ASSIGN(const auto stream, device->make_stream());
  Bench bench(*device, *stream, *dtype);
  for (const std::int64_t units : {1, 2, 10}) {
    for (const std::int64_t features : {1024, 8192, 65536}) {
      for (const std::int64_t batch : {1, 256, 2048, 16384}) {
        PLIMSOLL_RETURN_IF_ERROR(bench.layer(batch, features, units));
      }
    }
  }
  return {};
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  CLI::App app("Times the products of narrow dense layers on a GPU");
  std::string dtype = "bf16";
  app.add_option("--dtype", dtype, "bf16, f16 or f32");
  CLI11_PARSE(app, argc, argv);
  if (auto ran = plimsoll::run(dtype); !ran) {
    fmt::print(stderr, "{}\n", ran.error().message);
    return 1;
  }
  return 0;
}
