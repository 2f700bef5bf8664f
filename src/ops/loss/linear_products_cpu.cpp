#include "ops/loss/linear_products_cpu.h"

#include <fmt/core.h>

#include <set>

#include "base/units.h"
#include "device/cpu/compute_threads.h"

namespace plimsoll::ops {
namespace {

constexpr std::int64_t kPanelBytes = 1 << 20;
constexpr double kRowFlopsPerSecond = 1e10;  // exponentials and sums

ProductShape product(std::int64_t m, std::int64_t n, std::int64_t k) {
  ProductShape shape;
  shape.m = m;
  shape.n = n;
  shape.k = k;
  return shape;
}

class Planner {
 public:
  Planner(LinearPlan& plan, ComputeThreads& threads)
      : plan_(plan), threads_(threads) {}

  Result<LinearPlan::Chunk> chunk(std::int64_t rows, double times) {
    const LinearChunks& c = plan_.chunks;
    LinearPlan::Chunk made;
    ProductShape logits = product(rows, c.classes, c.width);
    logits.a_row = c.width;
    logits.a_col = 1;
    logits.b_row = c.transposed ? 1 : c.classes;
    logits.b_col = c.transposed ? c.width : 1;
    PLIMSOLL_ASSIGN(made.logits, choose(logits, plan_.compute, times));
    if (!plan_.gradient) return made;

    ProductShape dx = product(rows, c.width, c.classes);
    dx.a_row = c.classes;
    dx.a_col = 1;
    dx.b_row = logits.b_col;
    dx.b_col = logits.b_row;
    PLIMSOLL_ASSIGN(made.dx, choose(dx, plan_.dtype, times));

    const auto panels =
        static_cast<double>(plan_.weight_rows / plan_.panel_rows);
    PLIMSOLL_ASSIGN(made.panel, choose(panel(plan_.panel_rows, rows),
                                       plan_.compute, times * panels));
    if (const std::int64_t rest = plan_.weight_rows % plan_.panel_rows) {
      PLIMSOLL_ASSIGN(made.last_panel,
                      choose(panel(rest, rows), plan_.compute, times));
    }
    return made;
  }

  std::string names() const {
    std::string all;
    for (const std::string& name : names_) all += ":" + name;
    return all;
  }

 private:
  // x' g, or g' x where the weight lies the other way round.
  ProductShape panel(std::int64_t panel_rows, std::int64_t rows) const {
    const LinearChunks& c = plan_.chunks;
    ProductShape shape = product(panel_rows, plan_.panel_width, rows);
    shape.a_row = 1;
    shape.a_col = c.transposed ? c.classes : c.width;
    shape.b_row = plan_.panel_width;
    shape.b_col = 1;
    return shape;
  }

  Result<LinearPlan::Product> choose(const ProductShape& shape, DType output,
                                     double times) {
    PLIMSOLL_ASSIGN(auto offered,
                    product_candidates(shape, {plan_.dtype, output}, threads_));
    if (offered.empty()) {
      return Error{ErrorCode::unsupported, "no product of these shapes"};
    }
    const graph::KernelCandidate& best = offered.front();
    plan_.product_bytes = std::max(
        plan_.product_bytes, round_up(best.scratch_bytes, std::int64_t{64}));
    plan_.private_bytes += best.private_bytes;
    plan_.seconds += times * best.seconds;
    names_.insert(best.name);
    return LinearPlan::Product{shape, output, best};
  }

  LinearPlan& plan_;
  ComputeThreads& threads_;
  std::set<std::string> names_;
};

}  // namespace

Result<LinearPlan> plan_linear(const graph::KernelQuery& query, bool gradient,
                               ComputeThreads& threads) {
  const std::size_t x = gradient ? 1 : 0;
  LinearPlan plan;
  plan.chunks =
      LinearChunks::of(query.inputs[x], query.inputs[x + 1], *query.attrs);
  plan.dtype = query.inputs[x].dtype;
  plan.compute = wide_dtype(plan.dtype);
  plan.gradient = gradient;
  plan.bias = query.inputs.size() == x + 4;
  plan.weight_rows = query.inputs[x + 1].shape.extent(0);
  plan.panel_width = query.inputs[x + 1].shape.extent(1);
  const std::int64_t bytes = size_of(plan.compute);
  const std::int64_t chunks = plan.chunks.count();
  plan.panel_rows = chunks <= 1 ? plan.weight_rows
                                : std::clamp<std::int64_t>(
                                      kPanelBytes / (plan.panel_width * bytes),
                                      1, plan.weight_rows);
  plan.logits_bytes = round_up(plan.chunks.most * plan.chunks.classes * bytes,
                               std::int64_t{64});
  if (gradient && plan.dtype != plan.compute) {
    plan.gradients_bytes =
        round_up(plan.chunks.most * plan.chunks.classes * size_of(plan.dtype),
                 std::int64_t{64});
  }
  if (gradient && chunks > 1) {
    plan.panel_bytes =
        round_up(plan.panel_rows * plan.panel_width * bytes, std::int64_t{64});
  }
  if (chunks > 0) {
    Planner planner(plan, threads);
    const std::int64_t rest = plan.chunks.rows_of(chunks - 1);
    const bool uneven = rest != plan.chunks.most;
    PLIMSOLL_ASSIGN(
        plan.full,
        planner.chunk(plan.chunks.most,
                      static_cast<double>(chunks - (uneven ? 1 : 0))));
    if (uneven) {
      PLIMSOLL_ASSIGN(plan.last, planner.chunk(rest, 1));
    }
    plan.name = planner.names();
  }
  plan.name =
      fmt::format("{}:rows={}{}", query.op->name, plan.chunks.most, plan.name);
  plan.seconds += 20 * static_cast<double>(plan.chunks.rows) *
                  static_cast<double>(plan.chunks.classes) /
                  (kRowFlopsPerSecond * threads.size());
  return plan;
}

}  // namespace plimsoll::ops
