#include <cmath>

#include "plimsoll/callbacks.h"

namespace plimsoll {
namespace {

// Both are means of the epoch so far: one batch's NaN stays in them.
void stop_unless_finite(FitControl& fit, const Logs& logs) {
  if (!std::isfinite(logs.at("loss"))) fit.stop_training();
}

}  // namespace

void TerminateOnNaN::on_progress(FitControl& fit, std::int64_t,
                                 const Logs& logs) {
  stop_unless_finite(fit, logs);
}

void TerminateOnNaN::on_epoch_end(FitControl& fit, std::int64_t,
                                  const Logs& logs) {
  stop_unless_finite(fit, logs);
}

}  // namespace plimsoll
