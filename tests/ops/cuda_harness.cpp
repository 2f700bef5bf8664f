#include "ops/cuda_harness.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "ops/tensor_values.h"

namespace plimsoll::ops::testing {
namespace {

constexpr std::int64_t kAlignment = 16;
// Bytes before a buffer that must stay as they were.
constexpr std::int64_t kGuard = 256;

std::int64_t aligned(std::int64_t bytes) { return round_up(bytes, kAlignment); }

Result<cuda::OpCode> code_of(const Case& test, const CudaCatalog& catalog) {
  return catalog.code(
      {test.record->op, test.inputs, test.outputs, &test.attrs});
}

}  // namespace

std::string kernel_of(const cuda::Function& function, std::size_t inputs,
                      std::size_t outputs, bool scratch) {
  int pointers = 0;
  const auto next = [&](std::size_t count) {
    std::vector<int> numbers(count);
    for (int& number : numbers) number = pointers++;
    return numbers;
  };
  CudaCall call{.function = &function,
                .inputs = next(inputs),
                .outputs = next(outputs),
                .numbers = next(function.numbers.size())};
  if (scratch) call.scratch = pointers++;
  call.blocks = static_cast<int>(function.blocks);
  return cuda_kernel_source({call}, pointers);
}

std::vector<std::string> kernels_of(const Case& test,
                                    const CudaCatalog& catalog) {
  std::vector<std::string> kernels;
  if (test.record->op->is_view) return kernels;
  const auto code = code_of(test, catalog);
  if (!code) return kernels;  // check() says why
  for (const auto& stage : code->stages) {
    if (const auto* function = std::get_if<cuda::Function>(&stage)) {
      kernels.push_back(kernel_of(*function, test.inputs.size(),
                                  test.outputs.size(),
                                  code->scratch_bytes > 0));
    }
  }
  return kernels;
}

CudaHarness::~CudaHarness() {
  for (const Mapping& mapping : mappings_) {
    if (mapping.start) device_.memory().unmap(mapping.start, mapping.bytes);
  }
}

std::byte* CudaHarness::buffer(std::size_t number, std::int64_t bytes,
                               int poison) {
  if (number >= mappings_.size()) mappings_.resize(number + 1);
  Mapping& mapping = mappings_[number];
  const std::int64_t needed =
      round_up(aligned(bytes) + kGuard, device_.memory().granularity_bytes());
  if (mapping.bytes < needed) {
    if (mapping.start) device_.memory().unmap(mapping.start, mapping.bytes);
    mapping.start = static_cast<std::byte*>(device_.memory().map(needed));
    mapping.bytes = mapping.start ? needed : 0;
  }
  if (mapping.start == nullptr) return nullptr;
  std::byte* const data = mapping.start + mapping.bytes - aligned(bytes);
  const Bytes pattern(static_cast<std::size_t>(aligned(bytes) + kGuard),
                      static_cast<std::byte>(poison));
  const Status filled =
      stream_.copy(data - kGuard, pattern.data(), std::ssize(pattern),
                   CopyDirection::to_device);
  return filled && stream_.synchronize() ? data : nullptr;
}

Bytes CudaHarness::read(const std::byte* from, std::int64_t bytes) {
  Bytes read(static_cast<std::size_t>(bytes));
  if (bytes > 0 &&
      (!stream_.copy(read.data(), from, bytes, CopyDirection::to_host) ||
       !stream_.synchronize())) {
    read.clear();
  }
  return read;
}

bool CudaHarness::intact(std::size_t number, std::int64_t bytes, int poison) {
  const Mapping& mapping = mappings_[number];
  const std::byte* data = mapping.start + mapping.bytes - aligned(bytes);
  const auto same = [&](const Bytes& guard) {
    return std::all_of(guard.begin(), guard.end(), [&](std::byte b) {
      return b == static_cast<std::byte>(poison);
    });
  };
  return same(read(data - kGuard, kGuard)) &&
         same(read(data + bytes, aligned(bytes) - bytes));
}

Status CudaHarness::launch(const cuda::OpCode& code,
                           const std::vector<void*>& inputs,
                           const std::vector<void*>& outputs, void* scratch) {
  for (const auto& stage : code.stages) {
    const auto* function = std::get_if<cuda::Function>(&stage);
    if (function == nullptr) {
      PLIMSOLL_ASSIGN(const auto prepared, device_.prepare(stage));
      PLIMSOLL_RETURN_IF_ERROR(
          prepared->launch(stream_, inputs.data(), outputs.data(), scratch));
      continue;
    }
    std::vector<void*> pointers = inputs;
    pointers.insert(pointers.end(), outputs.begin(), outputs.end());
    if (scratch != nullptr) pointers.push_back(scratch);
    PLIMSOLL_ASSIGN(
        CudaKernel* const kernel,
        device_.load(kernel_of(*function, inputs.size(), outputs.size(),
                               scratch != nullptr)));
    pointers.resize(pointers.size() + cuda::kMarkPointers);
    PLIMSOLL_RETURN_IF_ERROR(
        kernel->launch(stream_, static_cast<int>(function->blocks), pointers));
  }
  return stream_.synchronize();
}

Run CudaHarness::run(const Case& test, const cuda::OpCode& code,
                     const Sharing& sharing, int poison) {
  Run run;
  std::vector<void*> inputs;
  std::vector<void*> outputs;
  std::vector<Bytes> written;
  std::size_t number = 0;
  for (const RefTensor& value : test.values) {
    written.push_back(encode(value));
    std::byte* const data =
        buffer(number++, std::ssize(written.back()), poison);
    if (data == nullptr ||
        !stream_.copy(data, written.back().data(), std::ssize(written.back()),
                      CopyDirection::to_device) ||
        !stream_.synchronize()) {
      run.mistakes.push_back("no device memory");
      return run;
    }
    inputs.push_back(data);
  }
  for (std::size_t i = 0; i < test.outputs.size(); ++i) {
    std::byte* const own = buffer(number++, test.outputs[i].bytes(), poison);
    outputs.push_back(
        sharing[i] < 0 ? own : inputs[static_cast<std::size_t>(sharing[i])]);
  }
  void* scratch = code.scratch_bytes > 0
                      ? buffer(number++, code.scratch_bytes, poison)
                      : nullptr;
  if (auto launched = launch(code, inputs, outputs, scratch); !launched) {
    run.mistakes.push_back(launched.error().message);
    return run;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto bytes = std::ssize(written[i]);
    const bool shared =
        std::count(sharing.begin(), sharing.end(), static_cast<int>(i)) > 0;
    if (!intact(i, bytes, poison)) {
      run.mistakes.push_back(fmt::format("writes outside of input {}", i));
    }
    if (!shared &&
        read(static_cast<std::byte*>(inputs[i]), bytes) != written[i]) {
      run.mistakes.push_back(fmt::format("changes input {}", i));
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::int64_t bytes = test.outputs[i].bytes();
    if (!intact(inputs.size() + i, bytes, poison)) {
      run.mistakes.push_back(fmt::format("writes outside of output {}", i));
    }
    run.outputs.push_back(read(static_cast<std::byte*>(outputs[i]), bytes));
  }
  if (scratch != nullptr && !intact(number - 1, code.scratch_bytes, poison)) {
    run.mistakes.push_back("writes outside of scratch");
  }
  return run;
}

Mistakes CudaHarness::check(const Case& test, const CudaCatalog& catalog) {
  if (test.record->op->is_view) return {};
  const std::string what =
      fmt::format("op {}, record {} ({}) on cuda", test.record->op->name,
                  test.record->name, name_of(test.outputs[0].dtype));
  const auto code = code_of(test, catalog);
  if (!code) return {what + ": " + code.error().message};
  Case allowed = test;
  if (code->name.ends_with(kRounded)) {
    allowed.tolerance = tolerance_of(*test.record, test.inputs[0].dtype);
  }
  std::vector<Bytes> seen;
  return check_runs(
      allowed, what,
      [&](const Sharing& sharing, int poison) {
        return run(test, *code, sharing, poison);
      },
      seen);
}

}  // namespace plimsoll::ops::testing
