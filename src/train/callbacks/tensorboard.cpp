#include "report/tensorboard.h"

#include "train/callbacks/monitored.h"
#include "train/session_state.h"

namespace plimsoll {

TensorBoard::TensorBoard(std::string log_dir) : log_dir_(std::move(log_dir)) {}
TensorBoard::~TensorBoard() = default;

void TensorBoard::on_train_begin(FitControl&) {
  train::make_folder(log_dir_);
  writer_ = std::make_unique<report::EventWriter>(
      train::value_or_throw(report::EventWriter::create(log_dir_)));
}

void TensorBoard::on_epoch_end(FitControl&, std::int64_t epoch,
                               const Logs& logs) {
  for (const auto& [name, value] : logs) {
    train::throw_if_error(writer_->add_scalar("epoch_" + name, epoch, value));
  }
}

void TensorBoard::on_train_end(FitControl&, const Logs&) { writer_.reset(); }

}  // namespace plimsoll
