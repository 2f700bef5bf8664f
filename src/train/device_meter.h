// What the driver shows for this process on a GPU: context, code, libraries
// and arenas together.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "device/nvml/nvml.h"

namespace plimsoll::train {

class DeviceMeter {
 public:
  // Of "cuda:`ordinal`", before the process has a context there: what others
  // hold is told apart.
  static Result<DeviceMeter> open(int ordinal);

  // Now; also kept as the peak where it is larger. Takes no memory.
  std::int64_t read();
  std::int64_t peak_bytes() const { return peak_bytes_; }
  // "nvml process", or "nvml used minus before" where the driver does not tell
  // processes apart: then it holds on an idle GPU.
  const char* method() const;
  // Others had contexts there, and processes are not told apart: what they
  // take and give back counts here.
  bool is_shared() const { return !by_process_ && others_ > 0; }

 private:
  DeviceMeter(Nvml nvml, int index, pid_t process, std::int64_t before,
              int others)
      : nvml_(std::move(nvml)),
        index_(index),
        process_(process),
        before_bytes_(before),
        others_(others) {}

  Nvml nvml_;
  int index_;  // NVML's
  pid_t process_;
  std::int64_t before_bytes_;
  int others_;
  std::int64_t peak_bytes_ = 0;
  bool by_process_ = false;
};

}  // namespace plimsoll::train
