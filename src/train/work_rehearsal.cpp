#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "device/cpu/run_program.h"
#include "device/device_name.h"
#include "train/calibration.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

Result<LibraryCost> rehearse_library_work(const std::string& calibrator,
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
  LibraryCost cost;
  if (!(std::istringstream(text) >> cost.host_bytes >> cost.device_bytes)) {
    return Error{ErrorCode::internal,
                 fmt::format("calibration printed \"{}\"", text)};
  }
  return cost;
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
  PLIMSOLL_ASSIGN(const auto opened, module->open(ordinal, ""));
  PLIMSOLL_ASSIGN(DeviceMeter meter, DeviceMeter::open(ordinal));
  return measure_library_work(*opened, meter, work);
}

std::string to_text(const LibraryCost& cost) {
  return fmt::format("{} {}\n", cost.host_bytes, cost.device_bytes);
}

}  // namespace plimsoll::train
