// Gradients of what was computed while a tape was there:
//   pl::GradientTape tape;
//   tape.watch(w);
//   auto loss = pl::mean(pl::square(pl::matmul(x, w) - y));
//   auto dw = tape.gradient(loss, w);
// Variables that are trainable are watched by themselves.
// Of each op only what its gradient reads is kept; backward frees it as it
// goes, and whatever is left goes with the tape.
#pragma once

#include <memory>
#include <vector>

#include "plimsoll/tensor.h"
#include "plimsoll/variable.h"

namespace plimsoll {

struct TapeOptions {
  bool persistent = false;  // gradient() may be asked more than once
};

// Records what its thread does from when it is made until it goes (on the same
// thread), or until gradient() is asked of one that is not persistent. Tapes
// nest: an outer one records the gradients of an inner one, for second
// derivatives.
class GradientTape {
 public:
  explicit GradientTape(TapeOptions options = {});
  ~GradientTape();
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;

  void watch(const Tensor& tensor);

  // The gradients of the target's sum for each source, in their shapes; one on
  // which the target does not depend is not defined(). With `seed`, the
  // target's own gradient, in its shape. Throws Exception (unsupported) that
  // names the op where one has no gradient, and bad_input the second time.
  std::vector<Tensor> gradient(const Tensor& target,
                               const std::vector<Tensor>& sources,
                               const Tensor& seed = {});
  Tensor gradient(const Tensor& target, const Tensor& source,
                  const Tensor& seed = {});
  // The same for variables: for all values that were read of one while the tape
  // recorded, together.
  std::vector<Tensor> gradient(const Tensor& target,
                               const std::vector<Variable>& sources,
                               const Tensor& seed = {});
  std::vector<Tensor> gradient(const Tensor& target,
                               std::initializer_list<Variable> sources,
                               const Tensor& seed = {});
  Tensor gradient(const Tensor& target, const Variable& source,
                  const Tensor& seed = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll
