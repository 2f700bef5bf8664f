#include <algorithm>

#include "ops/normalization/norm_form.h"
#include "ops/op_record.h"
#include "ops/records/makers.h"
#include "ops/registry.h"

namespace plimsoll::ops::testing {

// Inputs of an op of this family for x of this shape, as its form tells.
OpRecord norm_record(std::string name, NormKind kind, bool gradient, Shape x,
                     graph::Attrs attrs) {
  if (!attrs.has("epsilon")) attrs.set("epsilon", 1e-3);
  const NormForm form = norm_form(kind, gradient, attrs);
  const NormShape cut = norm_shape(kind, x, attrs);
  Shape statistic{x.extent(-1)};
  if (kind == NormKind::group) statistic = {cut.segments, cut.groups};
  if (kind == NormKind::layer || kind == NormKind::rms) {
    statistic = Shape({x.dims().begin(), x.dims().end() - 1});
  }
  OpRecord record;
  record.name = std::move(name);
  record.op = find_op(norm_name(kind, gradient));
  record.attrs = std::move(attrs);
  record.inputs.resize(static_cast<std::size_t>(form.inputs));
  record.ranges.resize(record.inputs.size());
  const auto set = [&](int position, const Shape& shape, Range range) {
    if (position < 0) return;
    record.inputs[static_cast<std::size_t>(position)] = {DType::f32, shape};
    record.ranges[static_cast<std::size_t>(position)] = range;
  };
  set(form.dy, x, {-1, 1});
  set(form.x, x, {-2, 2});
  set(form.gamma, {x.extent(-1)}, {0.5, 1.5});
  set(form.beta, {x.extent(-1)}, {-1, 1});
  set(form.mean, statistic, {-0.5, 0.5});
  set(form.deviation, statistic, {0.5, 1.5});
  for (const int position : {form.mean, form.deviation}) {
    if (position >= 0) record.wide_inputs.push_back(position);
  }
  if (!gradient) {
    record.gradient_outputs = 1;
    for (const int position : {form.x, form.gamma, form.beta}) {
      if (position >= 0) record.gradient_of.push_back(position);
    }
  }
  return record;
}

namespace {

using graph::Attrs;

class Records {
 public:
  // An op and its gradient.
  void both(const std::string& name, NormKind kind, const Shape& x,
            const Attrs& attrs = {}) {
    for (const bool gradient : {false, true}) {
      all.push_back(norm_record(fmt_name(kind, gradient, name), kind, gradient,
                                x, attrs));
    }
  }
  // Likewise, where finite differences would tell nothing new or take long.
  void large(const std::string& name, NormKind kind, const Shape& x,
             const Attrs& attrs = {}) {
    both(name, kind, x, attrs);
    for (std::size_t i = all.size() - 2; i < all.size(); ++i) {
      all[i].gradient_of.clear();
    }
  }
  // A mean far above the deviation.
  void offset(const std::string& name, NormKind kind, const Shape& x,
              double low, double high, const Attrs& attrs = {}) {
    large(name, kind, x, attrs);
    for (std::size_t i = all.size() - 2; i < all.size(); ++i) {
      const NormForm form = norm_form(kind, i + 1 == all.size(), attrs);
      const auto set = [&](int position) {
        if (position < 0) return;
        all[i].ranges[static_cast<std::size_t>(position)] = {low, high};
      };
      set(form.x);
      set(form.mean);
      all[i].f64_tolerance = 1e-11;  // the mean's own last bit shows
      if (kind == NormKind::rms && form.deviation >= 0) {
        all[i].ranges[static_cast<std::size_t>(form.deviation)] = {1 / high,
                                                                   1 / low};
      }
    }
  }
  // gamma and beta in f32 where x is not.
  void wide_parameters(const std::string& name, NormKind kind, const Shape& x,
                       const Attrs& attrs = {}) {
    both(name, kind, x, attrs);
    widen(kind, attrs);
  }
  void large_wide(const std::string& name, NormKind kind, const Shape& x,
                  const Attrs& attrs = {}) {
    large(name, kind, x, attrs);
    widen(kind, attrs);
  }
  // What a GPU's library takes: sums of 16,000 values that cancel.
  void library(const std::string& name, const Shape& x,
               const Attrs& attrs = {}) {
    large_wide(name, NormKind::batch, x, attrs);
    all.back().tolerance = 1e-4;
  }
  void library_offset(const std::string& name, const Shape& x, double low,
                      double high) {
    offset(name, NormKind::batch, x, low, high);
    all.back().tolerance = 1e-4;
    widen(NormKind::batch, {});
  }

  std::vector<OpRecord> all;

 private:
  // Of the last two.
  void widen(NormKind kind, const Attrs& attrs) {
    for (std::size_t i = all.size() - 2; i < all.size(); ++i) {
      const NormForm form = norm_form(kind, i + 1 == all.size(), attrs);
      for (const int position : {form.gamma, form.beta}) {
        if (position >= 0) all[i].wide_inputs.push_back(position);
      }
    }
  }
  static std::string fmt_name(NormKind kind, bool gradient,
                              const std::string& name) {
    return std::string(norm_name(kind, gradient)) + "_" + name;
  }
};

void add_rows(Records& records) {
  for (const NormKind kind : {NormKind::layer, NormKind::rms}) {
    records.both("vector", kind, {20});
    records.both("rows", kind, {6, 37});
    records.both("pairs", kind, {5, 2});
    records.both("blocks", kind, {3, 64});
    records.both("cube", kind, {2, 3, 17});
    records.large("no_rows", kind, {0, 24});
    records.both("plain", kind, {4, 21}, {{"scale", false}, {"center", false}});
    records.wide_parameters("wide", kind, {3, 40});
    records.large_wide("large_wide", kind, {67, 136});
    records.large_wide("long_wide", kind, {9, 4104});
    records.large_wide("very_long_wide", kind, {5, 16392});
    records.large_wide("4096_wide", kind, {70, 4096});
    records.large_wide("16384_wide", kind, {70, 16384});
    records.both("small_epsilon", kind, {4, 30}, {{"epsilon", 1e-6}});
    records.large("768", kind, {70, 768});
    records.large("many_rows", kind, {3001, 24});
    records.large("very_many_rows", kind, {34001, 40});
    records.all.back().tolerance = 1e-4;  // sums that cancel
    records.large("96", kind, {5003, 96});
    records.large("2048", kind, {601, 2048});
    records.large("long_rows", kind, {3, 5003});
    records.large("1024", kind, {40, 1024});
    records.large("1535", kind, {20, 1535});
    records.large("long_even_rows", kind, {2, 8192});
    records.large("very_long_rows", kind, {2, 16500});
    records.offset("offset", kind, {5, 300}, 999, 1001);
  }
  // A single element is its own mean: all of it is rounding.
  records.large("single", NormKind::layer, {7, 1});
  records.both("single", NormKind::rms, {7, 1});
  records.both("scale_only", NormKind::layer, {4, 21}, {{"center", false}});
  records.both("center_only", NormKind::layer, {4, 21}, {{"scale", false}});
  records.offset("offset_narrow", NormKind::layer, {3, 5003}, 1000, 1000.25,
                 {{"epsilon", 1e-6}});
}

void add_groups(Records& records) {
  const auto groups = [](std::int64_t count) {
    return Attrs{{"groups", count}};
  };
  const NormKind kind = NormKind::group;
  records.both("rows", kind, {5, 12}, groups(3));
  records.large("no_rows", kind, {0, 3, 12}, groups(3));
  records.large("empty_rows", kind, {5, 0, 12}, groups(3));
  records.both("images", kind, {2, 3, 3, 8}, groups(2));
  records.both("one_group", kind, {2, 5, 7}, groups(1));
  records.both("each_channel", kind, {2, 9, 5}, groups(5));
  records.both("odd", kind, {3, 5, 15}, groups(5));
  records.both("one_example", kind, {1, 6, 4}, groups(2));
  records.both(
      "plain", kind, {2, 4, 6},
      {{"groups", std::int64_t{2}}, {"scale", false}, {"center", false}});
  records.both("center_only", kind, {2, 4, 6},
               {{"groups", std::int64_t{3}}, {"scale", false}});
  records.wide_parameters("wide", kind, {2, 4, 6}, groups(2));
  records.large("parts", kind, {3, 40, 41, 32}, groups(8));
  records.large("many_examples", kind, {150, 7, 40}, groups(4));
  records.large("large_groups", kind, {2, 400, 70}, groups(2));
  records.offset("offset", kind, {3, 50, 24}, 999, 1001, groups(4));
}

void add_batches(Records& records) {
  for (const NormKind kind : {NormKind::batch, NormKind::inference}) {
    records.both("rows", kind, {8, 11});
    records.large("no_rows", kind, {0, 3, 6});
    records.both("images", kind, {2, 3, 4, 6});
    records.both("one_channel", kind, {9, 1});
    records.both("two_rows", kind, {2, 5});
    records.both("tile", kind, {5, 64});
    records.both("plain", kind, {6, 5}, {{"scale", false}, {"center", false}});
    records.both("scale_only", kind, {6, 5}, {{"center", false}});
    records.both("center_only", kind, {6, 5}, {{"scale", false}});
    records.wide_parameters("wide", kind, {6, 8});
    records.large("64", kind, {33, 7, 9, 64});
    records.large("many_rows", kind, {20001, 3});
    records.large("many_channels", kind, {40, 2048});
    records.large("uneven", kind, {1031, 83});
    records.offset("offset", kind, {700, 40}, 999, 1001);
  }
  // One value a channel: all of it is rounding.
  records.large("one_row", NormKind::batch, {1, 6});
  records.large("one_row_unbiased", NormKind::batch, {1, 6},
                {{"unbiased", true}});
  records.both("unbiased", NormKind::batch, {7, 4}, {{"unbiased", true}});
  records.library("library", {2, 64, 64, 136});
  records.library("library_rows", {16411, 72}, {{"unbiased", true}});
  records.library("library_cube", {37, 450, 64}, {{"epsilon", 1e-5}});
  records.library_offset("library_offset", {16400, 72}, 99, 101);
  // Parts that have nothing in common.
  records.offset("offset_narrow", NormKind::batch, {3000, 20}, 1000, 1000.25,
                 {{"epsilon", 1e-6}});
}

}  // namespace

std::vector<OpRecord> normalization_records() {
  Records records;
  add_rows(records);
  add_groups(records);
  add_batches(records);
  return std::move(records.all);
}

}  // namespace plimsoll::ops::testing
