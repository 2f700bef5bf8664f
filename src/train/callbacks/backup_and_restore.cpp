#include <filesystem>

#include "train/callbacks/monitored.h"
#include "train/session_state.h"

namespace plimsoll {

BackupAndRestore::BackupAndRestore(std::string folder)
    : folder_(std::move(folder)) {
  if (!folder_.empty()) return;
  throw_error({ErrorCode::bad_input,
               "BackupAndRestore: name the folder of the backup"});
}

std::string BackupAndRestore::file() const {
  return folder_ + "/backup.safetensors";
}

void BackupAndRestore::on_train_begin(FitControl& fit) {
  train::make_folder(folder_);
  if (std::filesystem::exists(file())) fit.restore_checkpoint(file());
}

void BackupAndRestore::on_epoch_end(FitControl& fit, std::int64_t,
                                    const Logs&) {
  fit.save_checkpoint(file());
}

void BackupAndRestore::on_train_end(FitControl&, const Logs&) {
  std::error_code failure;
  std::filesystem::remove(file(), failure);
  if (failure) {
    throw_error({ErrorCode::io, file() + ": " + failure.message()});
  }
}

}  // namespace plimsoll
