#include "train/callbacks/monitored.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "train/session_state.h"

namespace plimsoll::train {
namespace {

bool more_is_better(const std::string& monitor, const std::string& mode) {
  if (mode != "auto") return mode == "max";
  const auto ends_with = [&](std::string_view end) {
    return std::string_view(monitor).ends_with(end);
  };
  return ends_with("accuracy") || ends_with("acc") || ends_with("auc");
}

}  // namespace

void check_mode(const char* user, const std::string& mode) {
  if (mode == "auto" || mode == "min" || mode == "max") return;
  throw_error(
      {ErrorCode::bad_input,
       fmt::format("{}: mode \"{}\": use auto, min or max", user, mode)});
}

void check_monitor(const char* user, const std::string& monitor,
                   const std::string& mode, const FitControl& fit) {
  check_mode(user, mode);
  const auto names = fit.log_names();
  if (std::find(names.begin(), names.end(), monitor) != names.end()) return;
  throw_error({ErrorCode::bad_input,
               fmt::format("{}: monitor \"{}\": this fit has {}{}", user,
                           monitor, fmt::join(names, ", "),
                           monitor.starts_with("val_")
                               ? "; give it validation data for val_ values"
                               : "")});
}

double worst_value(const std::string& monitor, const std::string& mode) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return more_is_better(monitor, mode) ? -kInfinity : kInfinity;
}

bool is_better(double value, double best, double min_delta,
               const std::string& monitor, const std::string& mode) {
  const double delta = std::abs(min_delta);
  return more_is_better(monitor, mode) ? value - delta > best
                                       : value + delta < best;
}

void make_folder(const std::string& path) {
  std::error_code failure;
  std::filesystem::create_directories(path, failure);
  if (failure) {
    throw_error(
        {ErrorCode::io, fmt::format("folder {}: {}", path, failure.message())});
  }
}

void make_folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) make_folder(folder.string());
}

}  // namespace plimsoll::train
