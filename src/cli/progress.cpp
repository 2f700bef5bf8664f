#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace plimsoll::cli {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kLogInterval = std::chrono::seconds(10);
constexpr std::size_t kLineBytes = 512;

// Appends to a fixed buffer and drops what does not fit.
class Line {
 public:
  Line(char* buffer, std::size_t capacity) : start_(buffer), left_(capacity) {}

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    const auto result = fmt::format_to_n(start_ + used_, left_, format,
                                         std::forward<Args>(args)...);
    const std::size_t written = std::min(result.size, left_);
    used_ += written;
    left_ -= written;
  }
  std::string_view text() const { return {start_, used_}; }

 private:
  char* start_;
  std::size_t left_;
  std::size_t used_ = 0;
};

void add_rate(Line& line, double rate) {
  if (rate >= 1e6) {
    line.add("{:.1f}M ex/s", rate / 1e6);
  } else if (rate >= 1e3) {
    line.add("{:.1f}k ex/s", rate / 1e3);
  } else {
    line.add("{:.0f} ex/s", rate);
  }
}

void add_eta(Line& line, double seconds) {
  const auto whole = static_cast<std::int64_t>(
      std::clamp(std::isfinite(seconds) ? seconds : 0.0, 0.0, 1e9) + 0.5);
  const std::int64_t hours = whole / 3600;
  const std::int64_t minutes = whole / 60 % 60;
  if (hours > 0) {
    line.add("ETA {}:{:02}:{:02}", hours, minutes, whole % 60);
  } else {
    line.add("ETA {}:{:02}", minutes, whole % 60);
  }
}

void add_bytes(Line& line, std::int64_t bytes) {
  static constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB",
                                                             "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  // "1 GiB" and "212 MiB", but "1.5 GiB".
  const bool whole = value >= 100 || value == std::floor(value);
  if (whole) {
    line.add("{:.0f} {}", value, kUnits[unit]);
  } else {
    line.add("{:.1f} {}", value, kUnits[unit]);
  }
}

}  // namespace

std::string_view progress_line(const train::Progress& progress, char* buffer,
                               std::size_t capacity) {
  Line line(buffer, capacity);
  line.add("epoch {}/{} · {}", progress.epoch, progress.epochs, progress.step);
  // Nobody has counted what a stream holds.
  if (progress.steps > 0) line.add("/{}", progress.steps);
  line.add(" · loss {:.4f}", progress.loss);
  for (const auto& [name, value] : progress.metrics)
    line.add(" · {} {:.4f}", name, value);
  if (progress.validation_loss)
    line.add(" · val_loss {:.4f}", *progress.validation_loss);
  line.add(" · ");
  add_rate(line, progress.examples_per_second);
  line.add(" · ");
  add_eta(line, progress.eta_seconds);
  line.add(" · host ");
  add_bytes(line, progress.host_bytes);
  line.add(" of ");
  add_bytes(line, progress.host_budget_bytes);
  if (progress.device_budget_bytes > 0) {
    line.add(" · device ");
    add_bytes(line, progress.device_bytes);
    line.add(" of ");
    add_bytes(line, progress.device_budget_bytes);
  }
  return line.text();
}

std::string_view clip_to_columns(std::string_view text, int columns) {
  int used = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool continues = (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80;
    if (!continues && used++ == columns) return text.substr(0, i);
  }
  return text;
}

ProgressPrinter::ProgressPrinter(int file, bool terminal)
    : file_(file), terminal_(terminal) {}

int ProgressPrinter::columns() const {
  winsize size{};
  if (ioctl(file_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

void ProgressPrinter::put(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file_, text.data(), text.size());
    if (written <= 0) return;  // a closed terminal must not end a training
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void ProgressPrinter::show(const train::Progress& progress,
                           Clock::time_point now) {
  if (last_ == Clock::time_point{} && !terminal_) last_ = now;
  const auto interval = terminal_ ? Clock::duration(kRedraw) : kLogInterval;
  if (!progress.epoch_end && now - last_ < interval) return;
  last_ = now;

  std::array<char, kLineBytes> buffer;
  std::string_view text = progress_line(progress, buffer.data(), buffer.size());
  if (terminal_) {
    put("\r");
    // The last column stays free: writing there makes some terminals wrap.
    text = clip_to_columns(text, columns() - 1);
  }
  put(text);
  if (terminal_) put("\x1b[K");
  if (progress.epoch_end || !terminal_) put("\n");
  line_open_ = terminal_ && !progress.epoch_end;
}

void ProgressPrinter::finish() {
  if (line_open_) put("\n");
  line_open_ = false;
}

}  // namespace plimsoll::cli
