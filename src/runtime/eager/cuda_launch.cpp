#include "runtime/eager/cuda_launch.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/hash.h"
#include "runtime/cuda_groups.h"

namespace plimsoll::runtime {
namespace {

constexpr std::uint64_t kSecondSeed = 0x9e3779b97f4a7c15;

// Pointers follow from the types: inputs, outputs, scratch, numbers.
std::string identity_of(const std::vector<ops::CudaCall>& calls, int pointers) {
  std::string text = fmt::format("{}", pointers);
  for (const ops::CudaCall& call : calls) {
    text += fmt::format("\n{} {} {} {} {} ", call.phase, call.first_block,
                        call.blocks, call.scratch, call.numbers.size());
    for (const int number : call.numbers) text += fmt::format("{},", number);
    for (const auto& types : {call.function->inputs, call.function->outputs}) {
      text += ':';
      for (const DType type : types) text += fmt::format("{} ", name_of(type));
    }
    text += fmt::format("{}\n", call.function->body.size());
    text += call.function->body;
  }
  return text;
}

}  // namespace

Result<std::shared_ptr<LoadedKernel>> LoadedKernels::load(
    const std::vector<ops::CudaCall>& calls, int pointers, KernelBytes& bytes,
    std::string_view asks) {
  const std::string identity = identity_of(calls, pointers);
  const Key key{stable_hash(identity), stable_hash(identity, kSecondSeed)};
  if (const auto found = loaded_.find(key); found != loaded_.end()) {
    if (auto kernel = found->second.lock()) return kernel;
  }
  PLIMSOLL_ASSIGN(auto charges, charge(bytes, asks));
  PLIMSOLL_ASSIGN(auto kernel,
                  device_.load_own(ops::cuda_kernel_source(calls, pointers)));
  auto made = std::make_shared<LoadedKernel>(std::move(kernel), stream_,
                                             std::move(charges));
  if (loaded_.size() >= looks_after_) forget_gone();
  loaded_[key] = made;
  return made;
}

Result<LoadedKernel::Charges> LoadedKernels::charge(KernelBytes& bytes,
                                                    std::string_view asks) {
  LoadedKernel::Charges made;
  PLIMSOLL_ASSIGN(made.device, bytes.charge(cost_.device_bytes, asks));
  PLIMSOLL_ASSIGN(made.host, host_bytes_->charge(cost_.host_bytes, asks));
  return made;
}

void LoadedKernels::forget_gone() {
  std::erase_if(loaded_, [](const auto& one) { return one.second.expired(); });
  looks_after_ = std::max<std::size_t>(2 * loaded_.size(), 1024);
}

class CudaParts::Maker {
 public:
  Maker(const graph::KernelQuery& query, const cuda::OpCode& code,
        LoadedKernels& kernels, KernelBytes& bytes)
      : query_(query), code_(code), kernels_(kernels), bytes_(bytes) {}

  Result<CudaParts> run() {
    made_.inputs_ = query_.inputs.size();
    made_.outputs_ = query_.outputs.size();
    made_.has_scratch_ = code_.scratch_bytes > 0;
    const std::vector<GroupItem> stages = items();
    for (const Group& group : group_launches(stages)) {
      const auto done = add(group);
      if (done) continue;
      if (done.error().code != ErrorCode::unsupported ||
          group.members.size() == 1) {
        return done.error();
      }
      for (const Group& single : taken_apart(group, stages)) {
        PLIMSOLL_RETURN_IF_ERROR(add(single));
      }
    }
    std::size_t numbers = 0;
    for (const Part& part : made_.parts_) {
      numbers = std::max(numbers, part.numbers.size());
    }
    made_.pointers_.resize(op_pointers() + numbers + cuda::kMarkPointers);
    return std::move(made_);
  }

 private:
  std::size_t op_pointers() const {
    return made_.inputs_ + made_.outputs_ + (made_.has_scratch_ ? 1u : 0u);
  }
  const cuda::Function* function(int stage) const {
    return std::get_if<cuda::Function>(
        &code_.stages[static_cast<std::size_t>(stage)]);
  }

  // Each stage waits for the one before: as if all wrote the same byte.
  std::vector<GroupItem> items() const {
    static constexpr std::byte kShared{};
    std::vector<GroupItem> items;
    for (int i = 0; i < std::ssize(code_.stages); ++i) {
      items.push_back(
          {function(i), {}, {{&kShared, 1}}, static_cast<int>(op_pointers())});
    }
    return items;
  }

  Status add(const Group& group) {
    Part part;
    std::vector<ops::CudaCall> calls;
    for (const Grouped& member : group.members) {
      if (function(member.item) == nullptr) return add_work(member.item);
      calls.push_back(call_of(member, part.numbers));
    }
    const auto pointers = static_cast<int>(op_pointers() + part.numbers.size());
    if (pointers > cuda::kMostPointers) {
      return Error{ErrorCode::bad_input,
                   fmt::format("{} has {} operands and results, {} at most on "
                               "CUDA",
                               query_.op->name, pointers, cuda::kMostPointers)};
    }
    PLIMSOLL_ASSIGN(part.kernel,
                    kernels_.load(calls, pointers, bytes_, query_.op->name));
    part.blocks = group.blocks;
    made_.parts_.push_back(std::move(part));
    return {};
  }

  Status add_work(int stage) {
    Part part;
    PLIMSOLL_ASSIGN(part.work_charges,
                    kernels_.charge(bytes_, query_.op->name));
    PLIMSOLL_ASSIGN(part.work,
                    kernels_.device().prepare(
                        code_.stages[static_cast<std::size_t>(stage)]));
    made_.parts_.push_back(std::move(part));
    return {};
  }

  // The kernel's pointers: inputs, outputs, scratch, numbers.
  ops::CudaCall call_of(const Grouped& place, std::vector<void*>& numbers) {
    ops::CudaCall call;
    call.function = function(place.item);
    int next = 0;
    for (std::size_t i = 0; i < made_.inputs_; ++i) {
      call.inputs.push_back(next++);
    }
    for (std::size_t i = 0; i < made_.outputs_; ++i) {
      call.outputs.push_back(next++);
    }
    if (made_.has_scratch_) call.scratch = next++;
    next += static_cast<int>(numbers.size());
    for (const std::uint64_t number : call.function->numbers) {
      call.numbers.push_back(next++);
      numbers.push_back(reinterpret_cast<void*>(number));
    }
    call.phase = place.phase;
    call.first_block = place.first_block;
    call.blocks = place.blocks;
    return call;
  }

  const graph::KernelQuery& query_;
  const cuda::OpCode& code_;
  LoadedKernels& kernels_;
  KernelBytes& bytes_;
  CudaParts made_;
};

Result<CudaParts> CudaParts::make(const graph::KernelQuery& query,
                                  const cuda::OpCode& code,
                                  LoadedKernels& kernels, KernelBytes& bytes) {
  return Maker(query, code, kernels, bytes).run();
}

Status CudaParts::launch(std::size_t number, Stream& stream,
                         const ops::LaunchArgs& args, const Mark& mark) {
  Part& part = parts_[number];
  if (part.work) {
    return part.work->launch(stream, args.inputs, args.outputs, args.scratch);
  }
  void** next = pointers_.data();
  for (std::size_t i = 0; i < inputs_; ++i) {
    *next++ = const_cast<void*>(args.inputs[i]);
  }
  next = std::copy_n(args.outputs, outputs_, next);
  if (has_scratch_) *next++ = args.scratch;
  next = std::copy(part.numbers.begin(), part.numbers.end(), next);
  *next++ = mark.word;
  *next++ = reinterpret_cast<void*>(std::uintptr_t{mark.number});
  return (**part.kernel)
      .launch(stream, part.blocks,
              {pointers_.data(),
               static_cast<std::size_t>(next - pointers_.data())});
}

}  // namespace plimsoll::runtime
