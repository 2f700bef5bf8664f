// TensorBoard event files: scalars by step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace plimsoll::report {

// One record of an event file: length, payload, and their masked checksums.
void append_record(std::string_view payload, std::string& out);

// Writes events.out.tfevents.<seconds>.<host>.<process> into a folder. Each
// scalar is in the file when add_scalar() returns.
class EventWriter {
 public:
  static Result<EventWriter> create(const std::string& folder);
  EventWriter(EventWriter&& other) noexcept;
  EventWriter& operator=(EventWriter&&) = delete;
  ~EventWriter();

  // wall_seconds since 1970; negative: now.
  Status add_scalar(std::string_view tag, std::int64_t step, double value,
                    double wall_seconds = -1);
  const std::string& path() const { return path_; }

 private:
  EventWriter(std::string path, int descriptor);
  Status write_record();

  std::string path_;
  int descriptor_ = -1;
  std::string payload_;  // kept to reuse their memory
  std::string record_;
};

}  // namespace plimsoll::report
