#include <algorithm>

#include "plimsoll/tape.h"
#include "runtime/eager/dispatch.h"
#include "runtime/eager/tape.h"
#include "runtime/eager/tensor_value.h"

namespace plimsoll {

struct GradientTape::Impl {
  runtime::Tape tape;
  bool persistent = false;
  bool asked = false;

  void start() { runtime::recording_tapes().push_back(&tape); }
  void stop() { std::erase(runtime::recording_tapes(), &tape); }
};

GradientTape::GradientTape(TapeOptions options)
    : impl_(std::make_unique<Impl>()) {
  impl_->persistent = options.persistent;
  impl_->start();
}

GradientTape::~GradientTape() { impl_->stop(); }

void GradientTape::watch(const Tensor& tensor) {
  const auto& value = runtime::value_of(tensor, "GradientTape::watch");
  if (!is_floating(value->type.dtype)) {
    throw_error({ErrorCode::bad_input,
                 "a tape watches tensors of floating types, not " +
                     value->type.to_string()});
  }
  impl_->tape.watch(value);
}

std::vector<Tensor> GradientTape::gradient(const Tensor& target,
                                           const std::vector<Tensor>& sources,
                                           const Tensor& seed) {
  if (impl_->asked && !impl_->persistent) {
    throw_error(
        {ErrorCode::bad_input,
         "the tape has been asked for gradients before, and kept nothing: make "
         "it with {.persistent = true} to ask more than once"});
  }
  const auto& value = runtime::value_of(target, "GradientTape::gradient");
  if (seed.defined() && seed.value()->type != value->type) {
    throw_error({ErrorCode::bad_input,
                 "the seed is " + seed.value()->type.to_string() +
                     ", but the target is " + value->type.to_string()});
  }
  runtime::Values from;
  for (const Tensor& source : sources) {
    from.push_back(runtime::value_of(source, "GradientTape::gradient"));
  }
  impl_->asked = true;
  // The others record the gradients, for theirs.
  impl_->stop();
  auto made =
      impl_->tape.gradient(value, seed.value(), from, impl_->persistent);
  if (impl_->persistent) impl_->start();
  std::vector<Tensor> gradients;
  for (auto& one : value_or_throw(std::move(made))) {
    gradients.emplace_back(std::move(one));
  }
  return gradients;
}

Tensor GradientTape::gradient(const Tensor& target, const Tensor& source,
                              const Tensor& seed) {
  return gradient(target, std::vector<Tensor>{source}, seed)[0];
}

}  // namespace plimsoll
