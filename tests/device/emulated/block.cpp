// longjmp() between stacks is what this is about: no check that it goes up.
#undef _FORTIFY_SOURCE

#include "device/emulated/block.h"

#include <ucontext.h>

#include <array>
#include <csetjmp>
#include <cstddef>
#include <vector>

namespace plimsoll::emulated {
namespace {

constexpr std::size_t kStackBytes = 128 << 10;

enum class State : std::uint8_t { ready, at_barrier, at_meeting, done };

struct Thread {
  std::jmp_buf where;
  State state = State::done;
  unsigned mask = 0;  // of the meeting
  void* mine = nullptr;
};

}  // namespace

class Block::Threads : public Here {
 public:
  Threads() : stacks_(new std::byte[kThreads * kStackBytes]) {
    Here::wait = [](Here* at) { of(at).barrier(); };
    Here::meet = [](Here* at, unsigned mask, void* mine,
                    void (*act)(void* const*)) {
      of(at).meeting(mask, mine, act);
    };
    for (unsigned i = 0; i < kThreads; ++i) begin(i);
  }

  std::string run(void (*kernel)(void* const*), void* const* pointers,
                  unsigned number, bool backwards) {
    kernel_ = kernel;
    pointers_ = pointers;
    block.x = number;
    for (Thread& each : all_) each.state = State::ready;
    left_ = kThreads;
    waiting_ = 0;
    while (left_ > 0) {
      bool moved = false;
      for (unsigned i = 0; i < kThreads; ++i) {
        const unsigned at = backwards ? kThreads - 1 - i : i;
        if (all_[at].state != State::ready) continue;
        moved = true;
        resume(at);
      }
      if (!moved) {
        return waiting_ > 0 ? "threads wait at a barrier that others do not "
                              "reach"
                            : "lanes wait for others that do not come";
      }
    }
    return {};
  }

 private:
  static Threads& of(Here* at) { return static_cast<Threads&>(*at); }

  // Onto the thread's own stack, where it waits for its first kernel.
  void begin(unsigned number) {
    ucontext_t back;
    ucontext_t first;
    getcontext(&first);
    first.uc_stack.ss_sp = stacks_.get() + number * kStackBytes;
    first.uc_stack.ss_size = kStackBytes;
    first.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&first, reinterpret_cast<void (*)()>(&Threads::live), 3,
                static_cast<unsigned>(self >> 32), static_cast<unsigned>(self),
                number);
    if (_setjmp(scheduler_) == 0) swapcontext(&back, &first);
  }

  static void live(unsigned high, unsigned low, unsigned number) {
    auto& block = *reinterpret_cast<Threads*>(
        static_cast<std::uintptr_t>(high) << 32 | low);
    for (;;) {
      block.leave(number);
      block.kernel_(block.pointers_);
      block.all_[number].state = State::done;
      --block.left_;
      block.open_barrier();
    }
  }

  void resume(unsigned number) {
    thread.x = number;
    if (_setjmp(scheduler_) == 0) std::longjmp(all_[number].where, 1);
  }

  void leave(unsigned number) {
    if (_setjmp(all_[number].where) == 0) std::longjmp(scheduler_, 1);
  }

  void barrier() {
    const unsigned me = thread.x;
    all_[me].state = State::at_barrier;
    ++waiting_;
    open_barrier();
    if (all_[me].state != State::ready) leave(me);
  }

  void open_barrier() {
    if (waiting_ == 0 || waiting_ < left_) return;
    for (Thread& each : all_) {
      if (each.state == State::at_barrier) each.state = State::ready;
    }
    waiting_ = 0;
  }

  void meeting(unsigned mask, void* mine, void (*act)(void* const*)) {
    const unsigned me = thread.x;
    Thread* const warp = &all_[me / kLanes * kLanes];
    all_[me].state = State::at_meeting;
    all_[me].mask = mask;
    all_[me].mine = mine;
    std::array<void*, kLanes> there{};
    bool complete = (mask >> me % kLanes & 1) != 0;
    for (unsigned i = 0; i < kLanes && complete; ++i) {
      if ((mask >> i & 1) == 0) continue;
      complete = warp[i].state == State::at_meeting && warp[i].mask == mask;
      there[i] = warp[i].mine;
    }
    if (!complete) return leave(me);
    act(there.data());
    for (unsigned i = 0; i < kLanes; ++i) {
      if ((mask >> i & 1) != 0) warp[i].state = State::ready;
    }
  }

  std::unique_ptr<std::byte[]> stacks_;
  std::array<Thread, kThreads> all_;
  std::jmp_buf scheduler_;
  void (*kernel_)(void* const*) = nullptr;
  void* const* pointers_ = nullptr;
  unsigned left_ = 0;     // threads that are not done
  unsigned waiting_ = 0;  // of them, at the barrier
};

Block::Block() : threads_(std::make_unique<Threads>()) {}
Block::~Block() = default;

Here* Block::here() { return threads_.get(); }

std::string Block::run(void (*kernel)(void* const*), void* const* pointers,
                       unsigned number, bool backwards) {
  return threads_->run(kernel, pointers, number, backwards);
}

}  // namespace plimsoll::emulated
