#include "plan/packing.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "plan/first_fit.h"

namespace plimsoll::plan {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;

using Order = std::pmr::vector<std::int32_t>;

// Everything a packing run works on. Items that need no place are left out.
class Packer {
 public:
  Packer(std::span<const PackItem> items, const PackOptions& options,
         std::pmr::memory_resource* memory)
      : work_limit_(options.work),
        indices_(memory),
        dense_(memory),
        offsets_(memory),
        best_offsets_(memory),
        best_order_(memory) {
    densify(items, memory);
  }

  Packing run(std::size_t items, std::pmr::memory_resource* memory) {
    FirstFit fitter(dense_, memory);
    offsets_.resize(dense_.size());
    try_greedy_orders(fitter, memory);
    promote_until_it_fits(fitter, memory);
    Packing packing;
    packing.offsets.assign(items, 0);
    for (std::size_t i = 0; i < dense_.size(); ++i) {
      packing.offsets[static_cast<std::size_t>(indices_[i])] = best_offsets_[i];
    }
    packing.height_bytes = dense_.empty() ? 0 : best_height_;
    packing.lower_bound_bytes = lower_bound_;
    return packing;
  }

 private:
  void densify(std::span<const PackItem> items,
               std::pmr::memory_resource* memory);
  void try_greedy_orders(FirstFit& fitter, std::pmr::memory_resource* memory);
  void promote_until_it_fits(FirstFit& fitter,
                             std::pmr::memory_resource* memory);
  bool done(const FirstFit& fitter) const {
    return best_height_ <= lower_bound_ || fitter.work() >= work_limit_;
  }
  // Keeps what the fitter has just placed if it is lower than the best.
  bool attempt(FirstFit& fitter, const Order& order, Fit fit);

  std::int64_t work_limit_;
  std::pmr::vector<std::int32_t> indices_;  // of items, by dense item
  std::pmr::vector<DenseItem> dense_;
  std::pmr::vector<std::int64_t> offsets_;
  std::pmr::vector<std::int64_t> best_offsets_;
  Order best_order_;
  std::int64_t best_height_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t lower_bound_ = 0;
  std::size_t failed_at_ = 0;  // position that did not fit in the last attempt
};

void Packer::densify(std::span<const PackItem> items,
                     std::pmr::memory_resource* memory) {
  std::pmr::vector<std::int64_t> times(memory);
  for (const PackItem& item : items) {
    if (item.size_bytes <= 0 || item.lower >= item.upper) continue;
    times.push_back(item.lower);
    times.push_back(item.upper);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const auto step = [&](std::int64_t time) {
    return static_cast<std::int32_t>(
        std::lower_bound(times.begin(), times.end(), time) - times.begin());
  };
  std::pmr::vector<std::int64_t> change(times.size(), 0, memory);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const PackItem& item = items[i];
    if (item.size_bytes <= 0 || item.lower >= item.upper) continue;
    const DenseItem dense{step(item.lower), step(item.upper), item.size_bytes};
    indices_.push_back(static_cast<std::int32_t>(i));
    dense_.push_back(dense);
    change[static_cast<std::size_t>(dense.lower)] += item.size_bytes;
    change[static_cast<std::size_t>(dense.upper)] -= item.size_bytes;
  }
  std::int64_t alive = 0;
  for (const std::int64_t bytes : change) {
    alive += bytes;
    lower_bound_ = std::max(lower_bound_, alive);
  }
}

bool Packer::attempt(FirstFit& fitter, const Order& order, Fit fit) {
  failed_at_ = fitter.run(order, fit, best_height_ - 1, offsets_);
  if (failed_at_ < order.size()) return false;
  best_height_ = fitter.height_bytes();
  best_offsets_ = offsets_;
  best_order_ = order;
  return true;
}

void Packer::try_greedy_orders(FirstFit& fitter,
                               std::pmr::memory_resource* memory) {
  const auto life = [](const DenseItem& item) {
    return std::int64_t{item.upper} - item.lower;
  };
  const auto area = [&](const DenseItem& item) {
    return static_cast<double>(item.size_bytes) *
           static_cast<double>(life(item));
  };
  Order order(dense_.size(), memory);
  const auto attempt_by = [&](auto before) {
    if (done(fitter) && best_height_ < std::numeric_limits<std::int64_t>::max())
      return;
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      const DenseItem& x = dense_[static_cast<std::size_t>(a)];
      const DenseItem& y = dense_[static_cast<std::size_t>(b)];
      if (before(x, y)) return true;
      if (before(y, x)) return false;
      return a < b;
    });
    for (const Fit fit : {Fit::first, Fit::best}) {
      if (best_height_ > lower_bound_) attempt(fitter, order, fit);
    }
  };
  // Long lives first: activations nest like brackets around the backward pass.
  attempt_by([&](const DenseItem& x, const DenseItem& y) {
    if (life(x) != life(y)) return life(x) > life(y);
    return x.size_bytes > y.size_bytes;
  });
  attempt_by([&](const DenseItem& x, const DenseItem& y) {
    if (x.size_bytes != y.size_bytes) return x.size_bytes > y.size_bytes;
    return life(x) > life(y);
  });
  attempt_by([&](const DenseItem& x, const DenseItem& y) {
    return area(x) > area(y);
  });
  attempt_by([&](const DenseItem& x, const DenseItem& y) {
    if (x.lower != y.lower) return x.lower < y.lower;
    return life(x) > life(y);
  });
}

// Squeaky wheel: what does not fit goes earlier, ever further the more often
// it fails.
void Packer::promote_until_it_fits(FirstFit& fitter,
                                   std::pmr::memory_resource* memory) {
  if (best_order_.empty()) return;
  Order order(best_order_, memory);
  std::pmr::vector<std::int32_t> failures(dense_.size(), 0, memory);
  while (!done(fitter)) {
    if (attempt(fitter, order, Fit::first)) continue;
    const auto failed = static_cast<std::size_t>(order[failed_at_]);
    const std::int32_t times = std::min(++failures[failed], 30);
    const std::size_t to = failed_at_ - ((failed_at_ * times + 29) / 30);
    std::rotate(order.begin() + static_cast<std::ptrdiff_t>(to),
                order.begin() + static_cast<std::ptrdiff_t>(failed_at_),
                order.begin() + static_cast<std::ptrdiff_t>(failed_at_) + 1);
  }
}

}  // namespace

Status check_items(std::span<const PackItem> items) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const PackItem& item = items[i];
    const auto bad = [&](const char* what) {
      return Error{ErrorCode::bad_input,
                   "item " + std::to_string(i) + ": " + what};
    };
    if (item.lower >= item.upper) return bad("its life is empty");
    if (item.size_bytes < 0) return bad("its size is negative");
    if (item.size_bytes > kMostBytes - sum) {
      return bad("the sizes add up to more than 2^62 bytes");
    }
    sum += item.size_bytes;
  }
  return {};
}

Packing pack(std::span<const PackItem> items, const PackOptions& options) {
  std::pmr::memory_resource* memory =
      options.memory ? options.memory : std::pmr::get_default_resource();
  Packer packer(items, options, memory);
  return packer.run(items.size(), memory);
}

}  // namespace plimsoll::plan
