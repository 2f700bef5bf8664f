#include <fmt/core.h>

#include <filesystem>

#include "train/callbacks/monitored.h"
#include "train/session_state.h"

namespace plimsoll {

CSVLogger::CSVLogger(std::string filename, char separator, bool append)
    : filename_(std::move(filename)), separator_(separator), append_(append) {}

void CSVLogger::check() const {
  if (file_) return;
  throw_error(
      {ErrorCode::io, fmt::format("CSVLogger: cannot write {}", filename_)});
}

void CSVLogger::on_train_begin(FitControl& fit) {
  train::make_folder_of(filename_);
  std::error_code none;
  const auto bytes = std::filesystem::file_size(filename_, none);
  const bool names_are_there = append_ && !none && bytes > 0;
  file_ = std::ofstream(filename_, append_ ? std::ios::app : std::ios::trunc);
  if (!names_are_there) {
    Logs names;  // the order of the values
    for (const std::string& name : fit.log_names()) names[name] = 0;
    file_ << "epoch";
    for (const auto& [name, value] : names) file_ << separator_ << name;
    file_ << '\n' << std::flush;
  }
  check();
}

void CSVLogger::on_epoch_end(FitControl&, std::int64_t epoch,
                             const Logs& logs) {
  file_ << epoch;
  for (const auto& [name, value] : logs) {
    file_ << separator_ << fmt::format("{}", value);
  }
  file_ << '\n' << std::flush;
  check();
}

void CSVLogger::on_train_end(FitControl&, const Logs&) { file_.close(); }

}  // namespace plimsoll
