// Growth of a measured curve, kept in bounded memory however long it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace plimsoll {

class MemoryTrend {
 public:
  MemoryTrend();
  void add(double seconds, std::int64_t bytes);

  // Slope of the least-squares line through the second half of the time, so
  // that starting up does not read as growth. Zero until there are 3 points.
  double growth_bytes_per_minute() const;
  // When the line through the last point with that slope reaches `bytes`;
  // zero when it is past, nothing when it never will.
  std::optional<double> seconds_until(std::int64_t bytes) const;

 private:
  struct Point {
    double seconds;
    double bytes;
  };
  std::vector<Point> points_;
  std::optional<Point> last_;
  std::size_t stride_ = 1;  // one point of this many is kept
  std::size_t skipped_ = 0;
};

}  // namespace plimsoll
