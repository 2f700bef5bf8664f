#include "runtime/cuda_program.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <deque>

#include "runtime/cuda_groups.h"

namespace plimsoll::runtime {
namespace {

// Where a pointer of a launch stands: read again at each enqueue, since inputs
// are bound anew.
using Source = void* const*;

Error named(const std::string& ops, Error error) {
  error.message = fmt::format("{}: {}", ops, error.message);
  return error;
}

}  // namespace

struct CudaProgram::Step {
  std::string name;  // of its ops
  const graph::OpDef* first_op = nullptr;
  std::shared_ptr<CudaKernel> kernel;
  int blocks = 1;
  std::vector<Source> sources;
  std::vector<void*> pointers;

  // Of a library's work or a transfer.
  const void* const* inputs = nullptr;
  void* const* outputs = nullptr;
  std::unique_ptr<CudaWork> work;
  void* const* scratch = nullptr;
  std::int64_t transfer_bytes = 0;
  CopyDirection direction = CopyDirection::to_host;

  bool is_transfer() const { return kernel == nullptr && work == nullptr; }

  Status launch(Stream& stream) {
    if (is_transfer()) {
      return stream.copy(outputs[0], inputs[0], transfer_bytes, direction);
    }
    if (work) return work->launch(stream, inputs, outputs, *scratch);
    for (std::size_t i = 0; i < sources.size(); ++i) pointers[i] = *sources[i];
    return kernel->launch(stream, blocks, pointers);
  }

  // Transfers cannot be made to fail so.
  bool runs(std::string_view op) const {
    return !is_transfer() && name.find(op) != std::string::npos;
  }
  // With addresses that nobody has; aligned, so that they come to be used.
  Status launch_at_nowhere(Stream& stream) {
    void* const nowhere = reinterpret_cast<void*>(std::uintptr_t{4096});
    if (work) {
      constexpr std::size_t kMostOperands = 16;
      std::array<void*, kMostOperands> wrong;
      wrong.fill(nowhere);
      return work->launch(stream, wrong.data(), wrong.data(), *scratch);
    }
    std::fill_n(pointers.begin(), sources.size(), nowhere);
    return kernel->launch(stream, blocks, pointers);
  }
};

// One stage of one launch.
struct CudaProgram::Part {
  const Launch* launch = nullptr;
  const graph::Instruction* instruction = nullptr;
  // Null: a transfer.
  const cuda::Stage* stage = nullptr;

  const cuda::Function* function() const {
    return stage ? std::get_if<cuda::Function>(stage) : nullptr;
  }
};

GroupItem CudaProgram::item_of(const Part& part, const Program& program) {
  GroupItem item;
  item.function = part.function();
  const graph::Instruction& step = *part.instruction;
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    // What is fed is never written here.
    const bool fed = program.lowered().buffer(step.inputs[i]).kind ==
                     graph::BufferKind::input;
    item.reads.push_back(
        {fed ? nullptr : static_cast<const std::byte*>(part.launch->inputs[i]),
         step.input_types[i].bytes()});
  }
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    item.writes.push_back(
        {static_cast<const std::byte*>(part.launch->outputs[i]),
         step.output_types[i].bytes()});
  }
  item.writes.push_back({static_cast<const std::byte*>(part.launch->scratch),
                         step.kernel.scratch_bytes});
  item.pointers =
      static_cast<int>(step.inputs.size() + step.outputs.size()) + 1;
  return item;
}

// Numbers the pointers of a kernel; equal ones are one.
class CudaProgram::Pointers {
 public:
  int number(Source source) {
    const auto found =
        std::find_if(sources_.begin(), sources_.end(), [&](Source known) {
          return known == source || (*known != nullptr && *known == *source);
        });
    if (found != sources_.end()) {
      return static_cast<int>(found - sources_.begin());
    }
    sources_.push_back(source);
    return static_cast<int>(sources_.size()) - 1;
  }
  int count() const { return static_cast<int>(sources_.size()); }
  std::vector<Source> take() { return std::move(sources_); }

 private:
  std::vector<Source> sources_;
};

ops::CudaCall CudaProgram::call_of(const Part& part, const Grouped& place,
                                   Pointers& pointers) {
  const graph::Instruction& step = *part.instruction;
  ops::CudaCall call;
  call.function = part.function();
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    call.inputs.push_back(
        pointers.number(const_cast<void**>(part.launch->inputs + i)));
  }
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    call.outputs.push_back(pointers.number(part.launch->outputs + i));
  }
  if (part.launch->scratch != nullptr) {
    call.scratch = pointers.number(&part.launch->scratch);
  }
  call.phase = place.phase;
  call.first_block = place.first_block;
  call.blocks = place.blocks;
  return call;
}

// None where the group is a library's work or a transfer.
std::vector<ops::CudaCall> CudaProgram::calls_of(const Group& group,
                                                 std::span<const Part> parts,
                                                 Pointers& pointers) {
  std::vector<ops::CudaCall> calls;
  for (const Grouped& member : group.members) {
    const Part& part = parts[static_cast<std::size_t>(member.item)];
    if (part.function() == nullptr) return {};
    calls.push_back(call_of(part, member, pointers));
  }
  return calls;
}

CudaProgram::~CudaProgram() = default;

CudaProgram::Step CudaProgram::transfer_of(const Part& part) {
  Step step;
  step.name = part.instruction->name;
  step.first_op = part.instruction->op;
  step.inputs = part.launch->inputs;
  step.outputs = part.launch->outputs;
  step.transfer_bytes = part.instruction->output_types[0].bytes();
  step.direction = part.instruction->place == graph::Place::host
                       ? CopyDirection::to_host
                       : CopyDirection::to_device;
  return step;
}

Result<CudaProgram::Step> CudaProgram::make_step(const Group& group,
                                                 std::span<const Part> parts,
                                                 CudaDevice& device,
                                                 const LoadKernel& load) {
  Step step;
  for (const Grouped& member : group.members) {
    const Part& part = parts[static_cast<std::size_t>(member.item)];
    if (!part.stage) return transfer_of(part);
    if (step.first_op == nullptr) step.first_op = part.instruction->op;
    if (!step.name.empty()) step.name += " + ";
    step.name += part.instruction->name;
    if (part.function() == nullptr) {
      auto prepared = device.prepare(*part.stage);
      if (!prepared) return named(step.name, std::move(prepared).error());
      step.work = *std::move(prepared);
      step.inputs = part.launch->inputs;
      step.outputs = part.launch->outputs;
      step.scratch = &part.launch->scratch;
      return step;
    }
  }
  Pointers pointers;
  const std::vector<ops::CudaCall> calls = calls_of(group, parts, pointers);
  step.sources = pointers.take();
  step.pointers.resize(step.sources.size() + cuda::kMarkPointers);
  step.blocks = group.blocks;
  auto kernel = load(calls, static_cast<int>(step.sources.size()), step.name);
  if (!kernel) return named(step.name, std::move(kernel).error());
  step.kernel = *std::move(kernel);
  return step;
}

Result<std::unique_ptr<CudaProgram>> CudaProgram::prepare(
    const Program& program, std::span<const Launch> launches,
    const ops::CudaCatalog& catalog, CudaDevice& device, const Mark& mark,
    const LoadKernel& given, int compilers) {
  const LoadKernel load =
      given ? given
            : [&](const std::vector<ops::CudaCall>& calls, int pointers,
                  const std::string&) -> Result<std::shared_ptr<CudaKernel>> {
    PLIMSOLL_ASSIGN(CudaKernel* const kernel,
                    device.load(ops::cuda_kernel_source(calls, pointers)));
    return std::shared_ptr<CudaKernel>(std::shared_ptr<void>(), kernel);
  };
  std::unique_ptr<CudaProgram> made(new CudaProgram);
  std::deque<cuda::OpCode> codes;  // parts point into them
  std::vector<Part> parts;
  std::vector<GroupItem> items;
  for (const Launch& launch : launches) {
    const graph::Instruction& step =
        program.lowered()
            .instructions[static_cast<std::size_t>(launch.instruction)];
    if (step.transfer) {
      parts.push_back({&launch, &step, nullptr});
      items.push_back(item_of(parts.back(), program));
      continue;
    }
    auto code = catalog.code(step);
    if (!code) return named(step.name, std::move(code).error());
    if (code->scratch_bytes > step.kernel.scratch_bytes) {
      return named(step.name,
                   {ErrorCode::internal,
                    fmt::format("planned as {} with {} bytes of scratch, but "
                                "{} needs {}",
                                step.kernel.name, step.kernel.scratch_bytes,
                                code->name, code->scratch_bytes)});
    }
    codes.push_back(*std::move(code));
    for (const auto& stage : codes.back().stages) {
      parts.push_back({&launch, &step, &stage});
      items.push_back(item_of(parts.back(), program));
    }
  }
  const std::vector<Group> groups = group_launches(items);
  if (!given && compilers > 1) {
    std::vector<std::string> sources;
    for (const Group& group : groups) {
      Pointers pointers;
      const std::vector<ops::CudaCall> calls = calls_of(group, parts, pointers);
      if (calls.empty()) continue;
      sources.push_back(ops::cuda_kernel_source(calls, pointers.count()));
    }
    device.compile_ahead(sources, compilers);
  }
  for (const Group& group : groups) {
    auto step = make_step(group, parts, device, load);
    if (step) {
      made->steps_.push_back(*std::move(step));
      continue;
    }
    if (step.error().code != ErrorCode::unsupported ||
        group.members.size() == 1) {
      return std::move(step).error();
    }
    for (const Group& single : taken_apart(group, items)) {
      PLIMSOLL_ASSIGN(Step alone, make_step(single, parts, device, load));
      made->steps_.push_back(std::move(alone));
    }
  }
  std::uintptr_t number = mark.first;
  for (Step& step : made->steps_) {
    if (step.kernel != nullptr) {
      step.pointers[step.sources.size()] = mark.word;
      step.pointers.back() = reinterpret_cast<void*>(number);
    }
    ++number;
  }
  return made;
}

std::size_t CudaProgram::launches() const { return steps_.size(); }

Status CudaProgram::enqueue_launch(std::size_t number, Stream& stream) {
  Step& step = steps_[number];
  auto launched = step.launch(stream);
  if (!launched) return named(step.name, std::move(launched).error());
  return {};
}

Status CudaProgram::enqueue_launch(std::size_t number, Stream& stream,
                                   const Mark& mark) {
  Step& step = steps_[number];
  if (step.kernel != nullptr) {
    step.pointers[step.sources.size()] = mark.word;
    step.pointers.back() = reinterpret_cast<void*>(std::uintptr_t{mark.first});
  }
  return enqueue_launch(number, stream);
}

const graph::OpDef& CudaProgram::op_of(std::size_t number) const {
  return *steps_[number].first_op;
}

Status CudaProgram::enqueue(Stream& stream) {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    PLIMSOLL_RETURN_IF_ERROR(enqueue_launch(i, stream));
  }
  return {};
}

Status CudaProgram::enqueue_checked(Stream& stream) {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    PLIMSOLL_RETURN_IF_ERROR(enqueue_launch(i, stream));
    auto done = stream.synchronize();
    if (!done) return named(steps_[i].name, std::move(done).error());
  }
  return {};
}

Status CudaProgram::enqueue_faulty(std::string_view op, Stream& stream) {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    PLIMSOLL_RETURN_IF_ERROR(step.runs(op) ? step.launch_at_nowhere(stream)
                                           : enqueue_launch(i, stream));
  }
  return {};
}

bool CudaProgram::runs(std::string_view op) const {
  return std::any_of(steps_.begin(), steps_.end(),
                     [&](const Step& step) { return step.runs(op); });
}

const std::string& CudaProgram::ops_of(std::size_t number) const {
  return steps_[number].name;
}

bool CudaProgram::says_when_it_starts(std::size_t number) const {
  return steps_[number].kernel != nullptr;
}

std::string CudaProgram::describe(std::size_t number) const {
  const Step& step = steps_[number];
  if (step.is_transfer()) {
    return fmt::format("{}: {} bytes {}", step.name, step.transfer_bytes,
                       step.direction == CopyDirection::to_host
                           ? "to the host"
                           : "to the device");
  }
  return step.work ? fmt::format("{}: {}", step.name, step.work->algorithm())
                   : fmt::format("{}: {} block{}", step.name, step.blocks,
                                 step.blocks == 1 ? "" : "s");
}

}  // namespace plimsoll::runtime
