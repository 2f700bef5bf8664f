#include "ops/cuda_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>

namespace plimsoll::ops {
namespace {

// Of one block alone on one multiprocessor.
constexpr double kBlockSeconds = 0.3e-6;
constexpr double kBlockBytesPerSecond = 100e9;
constexpr double kBlockFlopsPerSecond = 100e9;

constexpr std::int64_t kMostBlocks = 4 * 132;

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

}  // namespace

std::string cuda_text(std::string_view text,
                      std::initializer_list<CudaGap> gaps) {
  std::string filled;
  while (!text.empty()) {
    const std::size_t at = std::min(text.find('$'), text.size());
    filled += text.substr(0, at);
    if (at == text.size()) break;
    text.remove_prefix(at + 1);
    const auto end = std::find_if_not(text.begin(), text.end(), in_name);
    const std::string_view name =
        text.substr(0, static_cast<std::size_t>(end - text.begin()));
    const auto gap =
        std::find_if(gaps.begin(), gaps.end(),
                     [&](const CudaGap& one) { return one.name == name; });
    filled += gap != gaps.end() ? gap->value : fmt::format("${}", name);
    text.remove_prefix(name.size());
  }
  return filled;
}

std::string_view cuda_type(DType dtype) {
  return dtype == DType::boolean ? "boolean" : name_of(dtype);
}

std::string cuda_number(DType compute, double value) {
  const bool wide = compute == DType::f64;
  const double rounded =
      wide ? value : static_cast<double>(static_cast<float>(value));
  if (std::isnan(rounded)) return fmt::format("nan_of<{}>()", name_of(compute));
  if (std::isinf(rounded)) {
    return fmt::format("({}infinity_of<{}>())", rounded < 0 ? "-" : "",
                       name_of(compute));
  }
  return fmt::format("({:a}{})", rounded, wide ? "" : "f");
}

std::string CudaNumbers::number(DType compute, double value) {
  if (!late_) return cuda_number(compute, value);
  if (compute == DType::f64) {
    return fmt::format("__longlong_as_double((i64){})",
                       handed_over(std::bit_cast<std::uint64_t>(value)));
  }
  return fmt::format(
      "__uint_as_float((u32){})",
      handed_over(std::bit_cast<std::uint32_t>(static_cast<float>(value))));
}

std::string CudaNumbers::word(std::uint64_t value) {
  return late_ ? handed_over(value) : fmt::format("{}ull", value);
}

std::string CudaNumbers::handed_over(std::uint64_t bits) {
  values_.push_back(bits);
  return fmt::format("n{}", values_.size() - 1);
}

cuda::OpCode CudaNumbers::in(cuda::OpCode code) && {
  std::get<cuda::Function>(code.stages[0]).numbers = std::move(values_);
  return code;
}

std::string_view cuda_index(std::int64_t elements) {
  return elements < std::int64_t{1} << 31 ? "u32" : "u64";
}

std::string cuda_offset(const std::vector<CudaAxis>& axes,
                        std::string_view index) {
  std::string sum;
  std::int64_t inner = 1;
  for (std::size_t i = axes.size(); i-- > 0; inner *= axes[i].extent) {
    if (axes[i].stride == 0) continue;
    std::string term(index);
    if (inner > 1) term = fmt::format("{} / {}", term, inner);
    if (i > 0) term = fmt::format("{} % {}", term, axes[i].extent);
    sum += fmt::format("{}({}) * {}", sum.empty() ? "" : " + ", term,
                       axes[i].stride);
  }
  return sum.empty() ? "0" : fmt::format("({})", sum);
}

std::int64_t cuda_width(std::int64_t bytes, std::int64_t run) {
  std::int64_t width = 16 / bytes;
  while (run % width != 0) width /= 2;
  return width;
}

std::int64_t cuda_power_of_two(std::int64_t n) {
  std::int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

std::int64_t cuda_blocks(std::int64_t work) {
  return std::clamp<std::int64_t>(work, 1, kMostBlocks);
}

std::int64_t cuda_blocks_of_threads(std::int64_t threads) {
  return cuda_blocks((threads + cuda::kBlockThreads - 1) / cuda::kBlockThreads);
}

cuda::Function cuda_function(const graph::KernelQuery& query, std::string body,
                             std::int64_t blocks, const graph::Cost& cost) {
  cuda::Function function;
  function.body = std::move(body);
  for (const graph::TensorType& type : query.inputs) {
    function.inputs.push_back(type.dtype);
  }
  for (const graph::TensorType& type : query.outputs) {
    function.outputs.push_back(type.dtype);
  }
  function.blocks = blocks;
  function.one_block_seconds = kBlockSeconds +
                               cost.bytes / kBlockBytesPerSecond +
                               cost.flops / kBlockFlopsPerSecond;
  return function;
}

cuda::OpCode cuda_op(const graph::KernelQuery& query, std::string name,
                     std::string body, std::int64_t blocks) {
  cuda::OpCode code;
  code.name = std::move(name);
  code.stages.emplace_back(
      cuda_function(query, std::move(body), blocks,
                    query.op->cost(query.inputs, query.outputs, *query.attrs)));
  return code;
}

}  // namespace plimsoll::ops
