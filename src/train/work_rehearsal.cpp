#include "train/work_rehearsal.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "base/units.h"
#include "device/cpu/run_program.h"
#include "device/device_name.h"
#include "train/profile_cache.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;

// How the rehearsal's answer begins where the library has no engine.
constexpr std::string_view kUnsupported = "unsupported: ";

// What the rehearsal reads: longer than arguments may be.
class WorkFile {
 public:
  explicit WorkFile(const std::string& work) {
    std::error_code ignored;
    path_ = fs::temp_directory_path(ignored) /
            fmt::format("plimsoll-work-{}", getpid());
    written_ = static_cast<bool>((std::ofstream(path_) << work).flush());
  }
  ~WorkFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  WorkFile(const WorkFile&) = delete;
  WorkFile& operator=(const WorkFile&) = delete;

  bool written() const { return written_; }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
  bool written_ = false;
};

// As to_text() writes it, and as it is kept.
std::optional<LibraryCost> cost_of(const std::string& text) {
  LibraryCost cost;
  std::istringstream words(text);
  if (!(words >> cost.host_bytes >> cost.device_bytes)) return {};
  return cost;
}

std::optional<LibraryCost> kept_cost(const char* kind, const std::string& key) {
  const auto text = cached_text(kind, key, [](const std::string& kept) {
    return cost_of(kept).has_value();
  });
  return text ? cost_of(*text) : std::nullopt;
}

Result<LibraryCost> rehearse(const std::string& calibrator,
                             const std::string& device,
                             const std::string& work) {
  const WorkFile file(work);
  if (!file.written()) {
    return Error{ErrorCode::io,
                 fmt::format("cannot write {}: the job's library work is "
                             "rehearsed from it",
                             file.path())};
  }
  PLIMSOLL_ASSIGN(const std::string text,
                  output_of({calibrator, "calibrate", "--threads", "1",
                             "--device", device, "--work", file.path()}));
  if (text.starts_with(kUnsupported)) {
    return Error{ErrorCode::unsupported, text.substr(kUnsupported.size())};
  }
  if (const auto cost = cost_of(text)) return *cost;
  return Error{ErrorCode::internal,
               fmt::format("calibration printed \"{}\"", text)};
}

// A job's work takes a little more or less by the batch, by chance, and with a
// partial batch: up to 1 MiB of 104 in a small job on an H200. It is held to
// take the same, with some to spare, or a batch that was seen to fit beside
// another would not fit by itself.
constexpr std::int64_t kSpareBytes = 2 * kMiB;
constexpr std::int64_t kAlikeBytes = 2 * kSpareBytes;

// What the cost is held to be: the first that is alike, or one for it.
LibraryCost level_of(LibraryCost cost, const std::string& job) {
  constexpr const char* kKind = "cuda-work-level";
  const std::int64_t bytes = cost.host_bytes;
  cost.host_bytes += kSpareBytes;
  for (int i = 0;; ++i) {
    const std::string key = fmt::format("{} {}", i, job);
    const auto kept = [&] { return kept_cost(kKind, key); };
    if (!kept()) keep_text(kKind, key, to_text(cost));
    const auto level = kept();  // another process's, if it was first
    if (!level) return cost;
    if (bytes <= level->host_bytes &&
        bytes >= level->host_bytes - kAlikeBytes) {
      cost.host_bytes = level->host_bytes;
      return cost;
    }
  }
}

// "attention batch_norm product" and so on.
std::set<std::string> kinds_of(const std::string& work) {
  std::set<std::string> kinds;
  std::istringstream lines(work);
  for (std::string line; std::getline(lines, line);) {
    std::string times, kind;
    std::istringstream(line) >> times >> kind;
    kinds.insert(kind);
  }
  return kinds;
}

// A job's first work is run once; what is looked at beside it (other batch
// sizes, other precisions) is run where it has other kinds.
class WorkMeasure {
 public:
  WorkMeasure(std::string calibrator, std::string device, std::string key)
      : calibrator_(std::move(calibrator)),
        device_(std::move(device)),
        key_(std::move(key)) {}

  Result<LibraryCost> operator()(const std::string& work,
                                 const std::string& job) {
    const std::string key = fmt::format("{} {} {}", key_, job, work);
    const std::set<std::string> kinds = kinds_of(work);
    if (const auto kept = kept_cost(kKind, key)) {
      return largest_with(*kept, kinds);
    }
    if (std::includes(known_.begin(), known_.end(), kinds.begin(),
                      kinds.end())) {
      return largest_;
    }
    PLIMSOLL_ASSIGN(const LibraryCost measured,
                    rehearse(calibrator_, device_, work));
    const LibraryCost cost = level_of(measured, key_ + " " + job);
    keep_text(kKind, key, to_text(cost));
    return largest_with(cost, kinds);
  }

 private:
  LibraryCost largest_with(const LibraryCost& cost,
                           const std::set<std::string>& kinds) {
    known_.insert(kinds.begin(), kinds.end());
    largest_.host_bytes = std::max(largest_.host_bytes, cost.host_bytes);
    largest_.device_bytes = std::max(largest_.device_bytes, cost.device_bytes);
    return largest_;
  }

  static constexpr const char* kKind = "cuda-work";
  std::string calibrator_;
  std::string device_;
  std::string key_;
  LibraryCost largest_;
  std::set<std::string> known_;  // kinds that were run
};

}  // namespace

LibraryMeasure library_measure_by(std::string calibrator, std::string device,
                                  std::string key) {
  return WorkMeasure(std::move(calibrator), std::move(device), std::move(key));
}

Result<LibraryCost> run_library_work(const std::string& device,
                                     const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  if (!(text << file.rdbuf())) {
    return Error{ErrorCode::io, "cannot read " + path};
  }
  PLIMSOLL_ASSIGN(const auto work, library_work_from_text(text.str()));
  PLIMSOLL_ASSIGN(const int ordinal, cuda_ordinal(device));
  PLIMSOLL_ASSIGN(CudaModule* const module, open_cuda_module());
  PLIMSOLL_ASSIGN(DeviceMeter meter, DeviceMeter::open(ordinal));
  PLIMSOLL_ASSIGN(const auto opened, module->open(ordinal, ""));
  PLIMSOLL_ASSIGN(LibraryCost cost, measure_library_work(*opened, meter, work));
  // What others took meanwhile is in it: the profile's estimate counts then.
  if (meter.is_shared()) cost.device_bytes = 0;
  return cost;
}

std::string to_text(const Result<LibraryCost>& cost) {
  if (!cost) return fmt::format("{}{}\n", kUnsupported, cost.error().message);
  return fmt::format("{} {}\n", cost->host_bytes, cost->device_bytes);
}

}  // namespace plimsoll::train
