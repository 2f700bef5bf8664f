#include "report/tensorboard.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/crc32c.h"

namespace plimsoll::report {
namespace {

template <class Unsigned>
void append_fixed(Unsigned value, std::string& out) {
  for (std::size_t i = 0; i < sizeof(Unsigned); ++i) {
    out += static_cast<char>(value >> (8 * i));
  }
}

void append_varint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) {
    out += static_cast<char>(value | 0x80);
  }
  out += static_cast<char>(value);
}

std::size_t varint_bytes(std::uint64_t value) {
  std::size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

// Field keys of tensorflow.Event and tensorflow.Summary: number * 8 + wire
// type (0 varint, 1 eight bytes, 2 length-delimited, 5 four bytes).
constexpr char kEventWallTime = 1 * 8 + 1;
constexpr char kEventStep = 2 * 8 + 0;
constexpr char kEventFileVersion = 3 * 8 + 2;
constexpr char kEventSummary = 5 * 8 + 2;
constexpr char kSummaryValue = 1 * 8 + 2;
constexpr char kValueTag = 1 * 8 + 2;
constexpr char kValueSimple = 2 * 8 + 5;

void append_wall_time(double seconds, std::string& out) {
  out += kEventWallTime;
  append_fixed(std::bit_cast<std::uint64_t>(seconds), out);
}

double now_seconds() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  std::string text(name.data());
  for (char& c : text) {
    if (c == '/') c = '_';
  }
  return text.empty() ? "localhost" : text;
}

}  // namespace

void append_record(std::string_view payload, std::string& out) {
  const std::size_t start = out.size();
  append_fixed(static_cast<std::uint64_t>(payload.size()), out);
  append_fixed(mask_crc(crc32c(std::string_view(out).substr(start))), out);
  out += payload;
  append_fixed(mask_crc(crc32c(payload)), out);
}

EventWriter::EventWriter(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

EventWriter::EventWriter(EventWriter&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      payload_(std::move(other.payload_)),
      record_(std::move(other.record_)) {}

EventWriter::~EventWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<EventWriter> EventWriter::create(const std::string& folder) {
  const double seconds = now_seconds();
  const std::string stem =
      fmt::format("{}/events.out.tfevents.{:010}.{}.{}", folder,
                  static_cast<std::int64_t>(seconds), host_name(), ::getpid());
  // A second writer within the second gets a number of its own.
  std::string path;
  int descriptor = -1;
  for (int attempt = 0; descriptor < 0 && attempt < 1000; ++attempt) {
    path = fmt::format("{}.{}", stem, attempt);
    descriptor = ::open(
        path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno != EEXIST) break;
  }
  if (descriptor < 0) {
    return Error{ErrorCode::io, fmt::format("{}: cannot be created: {}", path,
                                            std::strerror(errno))};
  }
  EventWriter writer(std::move(path), descriptor);
  append_wall_time(seconds, writer.payload_);
  constexpr std::string_view kVersion = "brain.Event:2";
  writer.payload_ += kEventFileVersion;
  append_varint(kVersion.size(), writer.payload_);
  writer.payload_ += kVersion;
  PLIMSOLL_RETURN_IF_ERROR(writer.write_record());
  return writer;
}

Status EventWriter::add_scalar(std::string_view tag, std::int64_t step,
                               double value, double wall_seconds) {
  const std::size_t value_bytes = 1 + varint_bytes(tag.size()) + tag.size() + 5;
  const std::size_t summary_bytes = 1 + varint_bytes(value_bytes) + value_bytes;
  payload_.clear();
  append_wall_time(wall_seconds < 0 ? now_seconds() : wall_seconds, payload_);
  payload_ += kEventStep;
  append_varint(static_cast<std::uint64_t>(step), payload_);
  payload_ += kEventSummary;
  append_varint(summary_bytes, payload_);
  payload_ += kSummaryValue;
  append_varint(value_bytes, payload_);
  payload_ += kValueTag;
  append_varint(tag.size(), payload_);
  payload_ += tag;
  payload_ += kValueSimple;
  append_fixed(std::bit_cast<std::uint32_t>(static_cast<float>(value)),
               payload_);
  return write_record();
}

Status EventWriter::write_record() {
  record_.clear();
  append_record(payload_, record_);
  std::string_view left = record_;
  while (!left.empty()) {
    const ssize_t put = ::write(descriptor_, left.data(), left.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      return Error{ErrorCode::io, fmt::format("{}: writing failed: {}", path_,
                                              std::strerror(errno))};
    }
    left.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

}  // namespace plimsoll::report
