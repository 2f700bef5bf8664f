// The callback of fit() that writes event files. It stands here, beside the
// writer: `train` knows callbacks by their public interface alone.
#include <fmt/core.h>

#include <filesystem>

#include "base/throw_error.h"
#include "plimsoll/callbacks.h"
#include "report/tensorboard.h"

namespace plimsoll {

TensorBoard::TensorBoard(std::string log_dir) : log_dir_(std::move(log_dir)) {}
TensorBoard::~TensorBoard() = default;

void TensorBoard::on_train_begin(FitControl&) {
  std::error_code failure;
  std::filesystem::create_directories(log_dir_, failure);
  if (failure) {
    throw_error({ErrorCode::io,
                 fmt::format("folder {}: {}", log_dir_, failure.message())});
  }
  writer_ = std::make_unique<report::EventWriter>(
      value_or_throw(report::EventWriter::create(log_dir_)));
}

void TensorBoard::on_epoch_end(FitControl&, std::int64_t epoch,
                               const Logs& logs) {
  for (const auto& [name, value] : logs) {
    throw_if_error(writer_->add_scalar("epoch_" + name, epoch, value));
  }
}

void TensorBoard::on_train_end(FitControl&, const Logs&) { writer_.reset(); }

}  // namespace plimsoll
