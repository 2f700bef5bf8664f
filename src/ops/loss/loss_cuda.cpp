#include "ops/loss/loss_cuda.h"

#include <fmt/core.h>

#include <array>

#include "ops/softmax/rows_cuda.h"

namespace plimsoll::ops {
namespace {

using graph::KernelQuery;

// -log_softmax(x)[j] = log(sum) - (x[j] - top): the difference first, so that
// large logits do not swallow a small loss. A class of no weight adds nothing,
// though its logit be -infinity.
constexpr std::string_view kDense = R"(    const T* x = in0 + row * n;
    const T* labels = in1 + row * n;
    const C top = row_max<Threads, C>(x, n);
    const C sum = row_exp_sum<Threads>(x, n, top);
    const C log_sum = log_of(sum);
    C loss = 0;
    for (I j = Threads::lane(); j < n; j += Threads::size) {
      const C weight = load(labels[j]);
      const C one = sub(log_sum, sub(load(x[j]), top));
      loss = add(loss, weight == (C)0 ? (C)0 : mul(weight, one));
    }
    loss = Threads::join<Sum>(loss);
    if (Threads::lane() == 0) out0[row] = store<T>(loss);
)";

constexpr std::string_view kDenseGrad = R"(    const C dy = load(in0[row]);
    const T* x = in1 + row * n;
    const T* labels = in2 + row * n;
    T* dx = out0 + row * n;
    const C top = row_max<Threads, C>(x, n);
    const C sum = row_exp_sum<Threads>(x, n, top);
    const C scale = div(row_sum<Threads, C>(labels, n), sum);
    for (I j = Threads::lane(); j < n; j += Threads::size) {
      const C share = mul(exp_of(sub(load(x[j]), top)), scale);
      dx[j] = store<T>(mul(dy, sub(share, load(labels[j]))));
    }
)";

// A label outside of the classes gives NaN and reads nothing.
constexpr std::string_view kSparse =
    R"(    const $Row x = {$x + row * $step$bias};
    const i64 label = $labels[row];
    const C top = row_max<Threads, C>(x, n);
    const C sum = row_exp_sum<Threads>(x, n, top);
    if (Threads::lane() == 0) {
      C loss = nan_of<C>();
      if (label >= 0 && label < (i64)n) {
        loss = sub(log_of(sum), sub(load(x[label]), top));
      }
      $loss[row] = store<T>(loss);
    }
)";

constexpr std::string_view kSparseGrad = R"(    const C dy = load($dy[row]);
    const $Row x = {$x + row * $step$bias};
    const i64 label = $labels[row];
    $G* dx = $dx + row * $step;
    const C top = row_max<Threads, C>(x, n);
    const C sum = row_exp_sum<Threads>(x, n, top);
    const bool known = label >= 0 && label < (i64)n;
    const C scale = div(dy, sum);
    for (I j = Threads::lane(); j < n; j += Threads::size) {
      const C share = mul(exp_of(sub(load(x[j]), top)), scale);
      const C own = (i64)j == label ? dy : (C)0;
      dx[j] = store<$G>(known ? sub(share, own) : nan_of<C>());
    }
)";

constexpr std::string_view kArgmaxSparse =
    R"(    const u32 best = row_argmax<Threads, C>(in0 + row * n, n);
    const i64 label = in1[row];
    if (Threads::lane() == 0) out0[row] = (i64)best == label ? 1.0f : 0.0f;
)";

constexpr std::string_view kArgmaxDense =
    R"(    const u32 best = row_argmax<Threads, C>(in0 + row * n, n);
    const u32 label = row_argmax<Threads, C>(in1 + row * n, n);
    if (Threads::lane() == 0) out0[row] = best == label ? 1.0f : 0.0f;
)";

// `text` with what it has of rows filled in.
std::string of_rows(std::string_view text, const SparseRows& rows) {
  const bool biased = !rows.bias.empty();
  return cuda_text(text,
                   {{"Row", biased ? "Biased<T>" : "T*"},
                    {"x", rows.x},
                    {"step", rows.step},
                    {"bias", biased ? fmt::format(", {}", rows.bias) : ""},
                    {"labels", rows.labels}});
}

std::string text_of(const KernelQuery& query) {
  const std::string_view op = query.op->name;
  if (op == "softmax_cross_entropy") return std::string(kDense);
  if (op == "softmax_cross_entropy_grad") return std::string(kDenseGrad);
  if (op == "sparse_softmax_cross_entropy") {
    return sparse_loss_text({"in0", "n", "in1"}, "out0");
  }
  if (op == "sparse_softmax_cross_entropy_grad") {
    return sparse_grad_text({"in1", "n", "in2"}, "in0", "T", "out0");
  }
  return std::string(query.inputs[1].dtype == DType::i32 ? kArgmaxSparse
                                                         : kArgmaxDense);
}

// `kScores` is the input that has the rows.
template <std::size_t kScores>
Result<cuda::OpCode> code(const KernelQuery& query, const CudaSettings&) {
  if (!is_floating(query.inputs[kScores].dtype)) return cuda::OpCode();
  return rows_cuda(query, query.inputs[kScores], text_of(query));
}

}  // namespace

std::string sparse_loss_text(const SparseRows& rows, std::string_view loss) {
  return of_rows(cuda_text(kSparse, {{"loss", loss}}), rows);
}

std::string sparse_grad_text(const SparseRows& rows, std::string_view dy,
                             std::string_view type, std::string_view dx) {
  return of_rows(cuda_text(kSparseGrad, {{"dy", dy}, {"G", type}, {"dx", dx}}),
                 rows);
}

std::span<const CudaKernels> loss_cuda_kernels() {
  static constexpr std::array<CudaKernels, 5> kernels = {{
      {"softmax_cross_entropy", code<0>},
      {"softmax_cross_entropy_grad", code<1>},
      {"sparse_softmax_cross_entropy", code<0>},
      {"sparse_softmax_cross_entropy_grad", code<1>},
      {"argmax_equals", code<0>},
  }};
  return kernels;
}

}  // namespace plimsoll::ops
