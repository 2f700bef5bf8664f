#include "fed_input.h"

#include <chrono>
#include <cstdlib>
#include <utility>

#include "base/units.h"

namespace plimsoll::data {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

void FedInput::FreeMemory::operator()(std::byte* memory) const {
  std::free(memory);
}

Result<FedInput> FedInput::open(Input input, const FeederOptions& how) {
  FedInput fed;
  fed.input_ = std::make_unique<const Input>(std::move(input));
  PLIMSOLL_ASSIGN(fed.layout_, feeder_layout(*fed.input_, how));
  const auto bytes =
      static_cast<std::size_t>(round_up(fed.layout_.total_bytes, 64));
  fed.memory_.reset(static_cast<std::byte*>(std::aligned_alloc(64, bytes)));
  if (!fed.memory_) return Error{ErrorCode::internal, "no memory"};
  PLIMSOLL_ASSIGN(fed.feeder_,
                  BatchFeeder::create(*fed.input_, how, fed.layout_,
                                      {fed.memory_.get(), bytes}));
  PLIMSOLL_RETURN_IF_ERROR(fed.feeder_->start({}));
  return fed;
}

Result<double> FedInput::consume(double seconds, double work_seconds) {
  std::int64_t elements = 0;
  const auto start = Clock::now();
  double spent = 0;
  while (spent < seconds) {
    PLIMSOLL_ASSIGN(const Batch batch, feeder_->next());
    if (batch.examples == 0) {
      const std::int64_t epoch = feeder_->position().epoch + 1;
      PLIMSOLL_RETURN_IF_ERROR(feeder_->start({epoch, 0, {}}));
      continue;
    }
    elements += batch.examples;
    if (work_seconds > 0) {
      const auto taken = Clock::now();
      while (seconds_since(taken) < work_seconds) {
      }
    }
    feeder_->release(batch.slot);
    spent = seconds_since(start);
  }
  return static_cast<double>(elements) / spent;
}

}  // namespace plimsoll::data
