#include "plimsoll/callbacks.h"

namespace plimsoll {

LambdaCallback::LambdaCallback(LambdaFunctions functions)
    : functions_(std::move(functions)) {}

void LambdaCallback::on_train_begin(FitControl& fit) {
  if (functions_.on_train_begin) functions_.on_train_begin(fit);
}

void LambdaCallback::on_epoch_begin(FitControl& fit, std::int64_t epoch) {
  if (functions_.on_epoch_begin) functions_.on_epoch_begin(fit, epoch);
}

void LambdaCallback::on_epoch_end(FitControl& fit, std::int64_t epoch,
                                  const Logs& logs) {
  if (functions_.on_epoch_end) functions_.on_epoch_end(fit, epoch, logs);
}

void LambdaCallback::on_train_end(FitControl& fit, const Logs& logs) {
  if (functions_.on_train_end) functions_.on_train_end(fit, logs);
}

}  // namespace plimsoll
