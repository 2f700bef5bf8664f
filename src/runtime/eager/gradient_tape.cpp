#include <algorithm>

#include "plimsoll/tape.h"
#include "runtime/eager/dispatch.h"
#include "runtime/eager/tape.h"
#include "runtime/eager/tensor_value.h"
#include "runtime/eager/variable_cell.h"

namespace plimsoll {

struct GradientTape::Impl {
  runtime::Tape tape;
  bool persistent = false;
  bool asked = false;

  std::vector<Tensor> gradient(const Tensor& target, const Tensor& seed,
                               std::span<const std::uint64_t> sources);

  void start() { runtime::recording_tapes().push_back(&tape); }
  // Whether it was recording on this thread.
  bool stop() { return std::erase(runtime::recording_tapes(), &tape) > 0; }
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

std::vector<Tensor> GradientTape::Impl::gradient(
    const Tensor& target, const Tensor& seed,
    std::span<const std::uint64_t> sources) {
  if (asked && !persistent) {
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
  asked = true;
  // The others record the gradients, for theirs.
  const bool recording = stop();
  auto made = tape.gradient(value, seed.value(), sources, persistent);
  if (recording && persistent) start();
  std::vector<Tensor> gradients;
  for (auto& one : value_or_throw(std::move(made))) {
    gradients.emplace_back(std::move(one));
  }
  return gradients;
}

std::vector<Tensor> GradientTape::gradient(const Tensor& target,
                                           const std::vector<Tensor>& sources,
                                           const Tensor& seed) {
  std::vector<std::uint64_t> ids;
  for (const Tensor& source : sources) {
    ids.push_back(runtime::value_of(source, "GradientTape::gradient")->id);
  }
  return impl_->gradient(target, seed, ids);
}

std::vector<Tensor> GradientTape::gradient(const Tensor& target,
                                           const std::vector<Variable>& sources,
                                           const Tensor& seed) {
  std::vector<std::uint64_t> ids;
  std::vector<std::size_t> owners;  // a variable may have been read often
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto& cell = runtime::cell_of(sources[i], "GradientTape::gradient");
    for (const std::uint64_t id : impl_->tape.reads_of(cell->id)) {
      ids.push_back(id);
      owners.push_back(i);
    }
  }
  const auto by_read = impl_->gradient(target, seed, ids);
  std::vector<Tensor> gradients(sources.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!by_read[i].defined()) continue;
    Tensor& sum = gradients[owners[i]];
    sum = sum.defined() ? sum + by_read[i] : by_read[i];
  }
  return gradients;
}

std::vector<Tensor> GradientTape::gradient(
    const Tensor& target, std::initializer_list<Variable> sources,
    const Tensor& seed) {
  return gradient(target, std::vector<Variable>(sources), seed);
}

Tensor GradientTape::gradient(const Tensor& target, const Variable& source,
                              const Tensor& seed) {
  return gradient(target, std::vector<Variable>{source}, seed)[0];
}

Tensor GradientTape::gradient(const Tensor& target, const Tensor& source,
                              const Tensor& seed) {
  return gradient(target, std::vector<Tensor>{source}, seed)[0];
}

}  // namespace plimsoll
