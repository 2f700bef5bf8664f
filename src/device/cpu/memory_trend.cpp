#include "device/cpu/memory_trend.h"

namespace plimsoll {
namespace {

constexpr std::size_t kMostPoints = 8192;

}  // namespace

MemoryTrend::MemoryTrend() { points_.reserve(kMostPoints); }

void MemoryTrend::add(double seconds, std::int64_t bytes) {
  last_ = Point{seconds, static_cast<double>(bytes)};
  if (++skipped_ < stride_) return;
  skipped_ = 0;
  if (points_.size() == kMostPoints) {
    for (std::size_t i = 0; i < kMostPoints / 2; ++i) {
      points_[i] = points_[2 * i + 1];
    }
    points_.resize(kMostPoints / 2);
    stride_ *= 2;
  }
  points_.push_back(*last_);
}

double MemoryTrend::growth_bytes_per_minute() const {
  if (points_.empty()) return 0;
  const double middle = (points_.front().seconds + last_->seconds) / 2;
  double count = 0, mean_t = 0, mean_y = 0;
  for (const Point& point : points_) {
    if (point.seconds < middle) continue;
    count += 1;
    mean_t += point.seconds;
    mean_y += point.bytes;
  }
  if (count < 3) return 0;
  mean_t /= count;
  mean_y /= count;
  double covariance = 0, variance = 0;
  for (const Point& point : points_) {
    if (point.seconds < middle) continue;
    const double t = point.seconds - mean_t;
    covariance += t * (point.bytes - mean_y);
    variance += t * t;
  }
  return variance > 0 ? covariance / variance * 60 : 0;
}

std::optional<double> MemoryTrend::seconds_until(std::int64_t bytes) const {
  if (!last_) return std::nullopt;
  const double missing = static_cast<double>(bytes) - last_->bytes;
  if (missing < 0) return 0.0;
  const double per_second = growth_bytes_per_minute() / 60;
  if (!(per_second > 0)) return std::nullopt;
  return missing / per_second;
}

}  // namespace plimsoll
