// A stand-in for the CUDA module, over host memory, with fake_nvml and
// fake_cuda: whole jobs run without a GPU. With FAKE_CUDA_COMPUTES=sm_80, say,
// they compute too, slowly: kernels are compiled for the CPU. Otherwise a
// kernel writes its mark alone. One that is given an address from nowhere
// fails, and from then on every call does, as with the driver's own.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "device/cuda_device.h"
#include "device/cuda_module_symbols.h"
#include "device/emulated/kernels.h"
#include "device/emulated/library_work.h"
#include "device/inline_stream.h"

namespace plimsoll {
namespace {

constexpr std::uintptr_t kNowhere = 4096;
constexpr std::int64_t kLaunchBytes = 20 << 10;  // of a recording

// Of the one device; nothing, or what every call says until it is opened anew.
Status the_fault;

// What is to go wrong when a kernel is loaded.
std::string_view planned() {
  const char* text = std::getenv("FAKE_CUDA_FAILS");
  return text != nullptr ? text : "";
}

// The architecture that kernels are compiled for, as they are told; or null:
// nothing is computed.
const char* computes() { return std::getenv("FAKE_CUDA_COMPUTES"); }

// What fake_nvml shows for this process: a context, and what is added.
void hold(std::int64_t more) {
  static std::int64_t held = 300 << 20;
  held += more;
  setenv("FAKE_GPU_HELD", fmt::format("{}", held).c_str(), 1);
}

class FakeMemory final : public MemorySource {
 public:
  std::int64_t granularity_bytes() const override { return 2 << 20; }
  void* map(std::int64_t bytes) noexcept override {
    void* start = std::aligned_alloc(4096, static_cast<std::size_t>(bytes));
    if (start == nullptr) return nullptr;
    std::memset(start, 0, static_cast<std::size_t>(bytes));
    ranges_[static_cast<std::byte*>(start)] = bytes;
    mapped_ += bytes;
    hold(bytes);
    peak_ = std::max(peak_, mapped_);
    return start;
  }
  void unmap(void* start, std::int64_t) noexcept override {
    const auto at = static_cast<std::byte*>(start);
    auto found = --ranges_.upper_bound(at);
    const std::int64_t kept = at - found->first;
    mapped_ -= found->second - kept;
    hold(kept - found->second);
    found->second = kept;
    if (kept > 0) return;
    std::free(start);
    ranges_.erase(found);
  }
  // Pages that nobody has touched cost nothing.
  void* reserve(std::int64_t bytes) noexcept override {
    return std::aligned_alloc(4096, static_cast<std::size_t>(bytes));
  }
  void unreserve(void* start, std::int64_t) noexcept override {
    std::free(start);
  }
  bool commit(void*, std::int64_t bytes) noexcept override {
    if (!the_fault) return false;
    mapped_ += bytes;
    hold(bytes);
    peak_ = std::max(peak_, mapped_);
    return true;
  }
  void decommit(void*, std::int64_t bytes) noexcept override {
    mapped_ -= bytes;
    hold(-bytes);
  }
  std::int64_t mapped_bytes() const noexcept override { return mapped_; }
  std::int64_t peak_mapped_bytes() const noexcept override { return peak_; }

 private:
  std::map<std::byte*, std::int64_t> ranges_;
  std::int64_t mapped_ = 0;
  std::int64_t peak_ = 0;
};

class FakeStream final : public Stream {
 public:
  Status copy(void* to, const void* from, std::int64_t bytes,
              CopyDirection direction) override {
    PLIMSOLL_RETURN_IF_ERROR(the_fault);
    return inner_.copy(to, from, bytes, direction);
  }
  Status clear(void* start, std::int64_t bytes) override {
    PLIMSOLL_RETURN_IF_ERROR(the_fault);
    return inner_.clear(start, bytes);
  }
  Status record(Event&) override { return the_fault; }
  Status wait(const Event&) override { return the_fault; }
  Status synchronize() override { return the_fault; }

  // Not run while it is being recorded.
  Status launch(std::function<void()> work) {
    PLIMSOLL_RETURN_IF_ERROR(the_fault);
    if (recorded != nullptr) {
      recorded->push_back(std::move(work));
    } else {
      work();
    }
    return {};
  }
  std::vector<std::function<void()>>* recorded = nullptr;

 private:
  InlineStream inner_{true};
};

void fail_if_nowhere(std::span<const void* const> pointers) {
  if (!the_fault) return;
  for (const void* pointer : pointers) {
    if (reinterpret_cast<std::uintptr_t>(pointer) != kNowhere) continue;
    the_fault = Error{ErrorCode::device, "CUDA_ERROR_ILLEGAL_ADDRESS: a fake"};
  }
}

class FakeKernel final : public CudaKernel {
 public:
  // Without `kernels` nothing is computed.
  FakeKernel(bool marks, emulated::Kernels* kernels,
             emulated::Kernels::Entry entry)
      : marks_(marks), kernels_(kernels), entry_(entry) {}

  Status launch(Stream& stream, int blocks,
                std::span<void* const> pointers) override {
    const std::vector<void*> given(pointers.begin(), pointers.end());
    return static_cast<FakeStream&>(stream).launch([given, blocks, this] {
      if (!the_fault) return;
      const std::size_t own = given.size() - (marks_ ? 2 : 0);
      if (marks_ && given[own] != nullptr) {
        const auto number = reinterpret_cast<std::uintptr_t>(given[own + 1]);
        *static_cast<std::uint32_t*>(given[own]) =
            static_cast<std::uint32_t>(number);
      }
      fail_if_nowhere(std::span(given).first(own));
      if (the_fault && kernels_ != nullptr) {
        the_fault = kernels_->run(entry_, blocks, given);
      }
    });
  }

 private:
  bool marks_;
  emulated::Kernels* kernels_;
  emulated::Kernels::Entry entry_;
};

class FakeWork final : public CudaWork {
 public:
  explicit FakeWork(const cuda::Stage& stage) : stage_(stage) {}

  Status launch(Stream& stream, const void* const* inputs, void* const* outputs,
                void* scratch) override {
    const void* const given[] = {inputs[0], outputs[0]};
    std::function<void()> work = [] {};
    if (computes() != nullptr) {
      work = emulated::library_work(stage_, inputs, outputs, scratch);
    }
    return static_cast<FakeStream&>(stream).launch(
        [given = std::to_array(given), work = std::move(work)] {
          fail_if_nowhere(given);
          if (the_fault) work();
        });
  }
  std::string algorithm() const override { return "none"; }

 private:
  cuda::Stage stage_;
};

class FakeRecording final : public CudaRecording {
 public:
  Status launch(Stream& stream) override {
    for (const auto& work : steps) {
      PLIMSOLL_RETURN_IF_ERROR(static_cast<FakeStream&>(stream).launch(work));
    }
    return the_fault;
  }
  std::vector<std::function<void()>> steps;
};

class FakeDevice final : public CudaDevice {
 public:
  FakeDevice() {
    profile_.library_versions["cublaslt"] = "1.2.3";
    if (computes() != nullptr) profile_.instruction_set = computes();
  }

  std::string_view name() const override { return "cuda:0"; }
  DeviceKind kind() const override { return DeviceKind::cuda; }
  const DeviceProfile& profile() const override { return profile_; }
  MemorySource& memory() override { return memory_; }
  Space space() const override { return Space::device; }
  Result<std::unique_ptr<Stream>> make_stream() override {
    return std::unique_ptr<Stream>(std::make_unique<FakeStream>());
  }
  Result<std::unique_ptr<Event>> make_event() override {
    return std::unique_ptr<Event>(std::make_unique<InlineEvent>());
  }

  Result<CudaKernel*> load(const std::string& source) override {
    auto& kernel = kernels_[source];
    if (!kernel) {
      PLIMSOLL_ASSIGN(kernel, load_own(source));
    }
    return kernel.get();
  }
  Result<std::unique_ptr<CudaKernel>> load_own(
      const std::string& source) override {
    PLIMSOLL_RETURN_IF_ERROR(the_fault);
    if (planned() == "local") {
      return Error{ErrorCode::unsupported, "a kernel uses local memory"};
    }
    if (planned() == "load") {
      return Error{ErrorCode::device, "CUDA_ERROR_INVALID_IMAGE: a fake"};
    }
    const bool marks = source.find("void* mark") != std::string::npos;
    if (planned() == "late" && marks && !ahead_.contains(source)) {
      return Error{ErrorCode::device, "a kernel was not compiled ahead"};
    }
    emulated::Kernels::Entry entry;
    if (computes() != nullptr) {
      PLIMSOLL_ASSIGN(entry, compiled_.find(source));
    }
    return std::unique_ptr<CudaKernel>(std::make_unique<FakeKernel>(
        marks, computes() != nullptr ? &compiled_ : nullptr, entry));
  }
  void compile_ahead(std::span<const std::string> sources,
                     int at_once) override {
    ahead_.insert(sources.begin(), sources.end());
    if (computes() != nullptr) {
      static_cast<void>(compiled_.compile(sources, at_once));
    }
  }
  Result<std::unique_ptr<CudaWork>> prepare(const cuda::Stage& stage) override {
    return std::unique_ptr<CudaWork>(std::make_unique<FakeWork>(stage));
  }
  Result<std::unique_ptr<CudaRecording>> record(
      Stream& stream, const std::function<Status()>& work) override {
    auto made = std::make_unique<FakeRecording>();
    auto& steps = static_cast<FakeStream&>(stream).recorded;
    steps = &made->steps;
    Status worked = work();
    steps = nullptr;
    hold(std::ssize(made->steps) * kLaunchBytes);
    if (!worked) return std::move(worked).error();
    return std::unique_ptr<CudaRecording>(std::move(made));
  }
  Status pin(void*, std::int64_t) override { return {}; }
  void unpin(void*) noexcept override {}
  Result<void*> seen_from_device(void* pinned) override { return pinned; }

 private:
  DeviceProfile profile_;
  FakeMemory memory_;
  emulated::Kernels compiled_;
  std::map<std::string, std::unique_ptr<CudaKernel>> kernels_;
  std::set<std::string> ahead_;
};

class FakeModule final : public CudaModule {
 public:
  Result<std::string> compile(const std::string&, const std::string&,
                              int) override {
    return std::string();
  }
  Result<std::string> compiler_version() override { return std::string("1"); }
  Result<std::string> layer_library_version() override {
    return Error{ErrorCode::unsupported, "no cuDNN: a fake"};
  }
  Result<std::unique_ptr<CudaDevice>> open(int, const std::string&) override {
    hold(0);
    the_fault = {};
    return std::unique_ptr<CudaDevice>(std::make_unique<FakeDevice>());
  }
};

}  // namespace
}  // namespace plimsoll

extern "C" plimsoll::CudaModule* plimsoll_cuda_module(const char* build) {
  static plimsoll::FakeModule module;
  return std::string_view(build) == PLIMSOLL_BUILD_ID ? &module : nullptr;
}
