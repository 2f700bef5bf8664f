// Tensors as NumPy prints them: brackets, columns that line up, the middle of
// large ones left out.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "plimsoll/tensor_math.h"
#include "runtime/eager/dispatch.h"
#include "runtime/eager/tensor_value.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kWhole = 1000;  // elements; of more, the edges
constexpr std::int64_t kEdge = 3;
constexpr int kLineWidth = 75;
constexpr int kMostDigits = 8;  // behind the point

// The fewest digits behind the point that tell the number apart from its
// neighbours in its type.
int digits_behind(double value, DType dtype, bool exponent) {
  for (int digits = 0; digits < kMostDigits; ++digits) {
    const std::string text = exponent ? fmt::format("{:.{}e}", value, digits)
                                      : fmt::format("{:.{}f}", value, digits);
    double back = 0;
    const auto read =
        std::from_chars(text.data(), text.data() + text.size(), back);
    if (read.ec != std::errc()) continue;  // beyond the largest
    const bool same = dtype == DType::f64 ? back == value
                                          : static_cast<float>(back) ==
                                                static_cast<float>(value);
    if (same) return digits;
  }
  return kMostDigits;
}

// How the numbers that are shown are written, all alike.
class NumberFormat {
 public:
  NumberFormat(const std::vector<double>& shown, DType dtype)
      : whole_(!is_floating(dtype)), boolean_(dtype == DType::boolean) {
    double largest = 0;
    double smallest = INFINITY;
    for (const double value : shown) {
      if (!std::isfinite(value) || value == 0) continue;
      largest = std::max(largest, std::fabs(value));
      smallest = std::min(smallest, std::fabs(value));
    }
    exponent_ = !whole_ && largest > 0 &&
                (largest >= 1e8 || smallest < 1e-4 || largest / smallest > 1e3);
    for (const double value : shown) {
      if (whole_ || !std::isfinite(value)) continue;
      digits_ = std::max(digits_, digits_behind(value, dtype, exponent_));
    }
    for (const double value : shown) {
      width_ = std::max(width_, written(value).size());
    }
  }

  std::string operator()(double value) const {
    return fmt::format("{:>{}}", written(value), width_);
  }

 private:
  std::string written(double value) const {
    if (boolean_) return value != 0 ? "True" : "False";
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    if (whole_) return fmt::format("{:.0f}", value);
    if (exponent_) {
      // "1.e-06": the point stays.
      const std::string text = fmt::format("{:.{}e}", value, digits_);
      const auto at = text.find('e');
      return digits_ > 0 ? text : text.substr(0, at) + "." + text.substr(at);
    }
    std::string text = fmt::format("{:.{}f}", value, digits_);
    if (digits_ == 0) return text + ".";
    // Zeros at the end are blanks, so that points stand above each other.
    const auto last = text.find_last_not_of('0');
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(last) + 1, text.end(),
              ' ');
    return text;
  }

  bool whole_;
  bool boolean_;
  bool exponent_ = false;
  int digits_ = 0;
  std::size_t width_ = 0;
};

// Positions of an axis that are shown; -1 stands for those left out, between
// the two edges that are there.
std::vector<std::int64_t> shown_positions(std::int64_t extent, bool cut) {
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < extent; ++i) {
    if (cut && i == kEdge) positions.push_back(-1);
    positions.push_back(i);
  }
  return positions;
}

// The edges of a large tensor, and of which axes the middle is missing.
Tensor edges_of(Tensor tensor, std::vector<bool>& cut) {
  const Extents shape = tensor.shape();
  cut.assign(shape.size(), false);
  if (tensor.size() <= kWhole) return tensor;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] <= 2 * kEdge) continue;
    cut[axis] = true;
    const auto part = [&](const Index& index) {
      std::vector<Index> all(axis, slice());
      all.push_back(index);
      return tensor.at(all);
    };
    tensor = concat({part(slice(0, kEdge)), part(slice(-kEdge))},
                    static_cast<std::int64_t>(axis));
  }
  return tensor;
}

class Printer {
 public:
  Printer(const Tensor& shown, std::vector<bool> cut)
      : shape_(shown.shape()),
        values_(shown.to_doubles()),
        cut_(std::move(cut)),
        format_(values_, shown.dtype()) {}

  std::string print() const {
    return shape_.empty() ? format_(values_[0]) : axis(0, 0);
  }

 private:
  std::int64_t stride(std::size_t axis) const {
    std::int64_t elements = 1;
    for (std::size_t i = axis + 1; i < shape_.size(); ++i)
      elements *= shape_[i];
    return elements;
  }

  std::string axis(std::size_t axis_number, std::int64_t start) const {
    const bool last = axis_number + 1 == shape_.size();
    const std::string indent(axis_number + 1, ' ');
    const std::string gap(shape_.size() - axis_number - 1, '\n');
    std::string text = "[";
    std::size_t line = axis_number + 1;
    bool first = true;
    for (const auto at :
         shown_positions(shape_[axis_number], cut_[axis_number])) {
      const std::string item =
          at < 0 ? "..."
          : last ? format_(values_[static_cast<std::size_t>(start + at)])
                 : axis(axis_number + 1, start + at * stride(axis_number));
      if (!first && last) {
        if (line + 1 + item.size() > kLineWidth) {
          text += "\n" + indent;
          line = axis_number + 1;
        } else {
          text += " ";
          ++line;
        }
      } else if (!first) {
        text += gap + indent;
      }
      text += item;
      line += item.size();
      first = false;
    }
    return text + "]";
  }

  Extents shape_;
  std::vector<double> values_;
  std::vector<bool> cut_;
  NumberFormat format_;
};

}  // namespace

std::string Tensor::to_string() const {
  if (!defined()) return "(no tensor)";
  if (size() == 0) return "[]";
  // What is looked at is nobody's gradient.
  const runtime::WithoutTapes unseen;
  std::vector<bool> cut;
  const Tensor shown = edges_of(*this, cut);
  return Printer(shown, std::move(cut)).print();
}

}  // namespace plimsoll
