#include "ops/loss/linear_cross_entropy_cuda.h"

#include <fmt/core.h>

#include "base/units.h"
#include "ops/loss/linear_chunks.h"
#include "ops/loss/loss_cuda.h"
#include "ops/matmul/matmul_cuda.h"
#include "ops/softmax/rows_cuda.h"

namespace plimsoll::ops {
namespace {

using cuda::Operand;
using graph::KernelQuery;

constexpr std::int64_t kAlignment = 256;

class Stages {
 public:
  Stages(const KernelQuery& query, bool gradient, const CudaSettings& settings)
      : query_(query), gradient_(gradient), x_(gradient ? 1 : 0) {
    const graph::TensorType& x = query.inputs[static_cast<std::size_t>(x_)];
    const graph::TensorType& weight =
        query.inputs[static_cast<std::size_t>(x_ + 1)];
    chunks_ = LinearChunks::of(x, weight, *query.attrs);
    bytes_ = size_of(x.dtype);
    logits_ = {x.dtype, Shape{chunks_.most, chunks_.classes}};
    tf32_ = settings.tf32 && x.dtype == DType::f32;
    workspace_at_ = round_up(logits_.bytes(), kAlignment);
  }

  cuda::OpCode run() && {
    // Begins as the library's products do: they are what runs.
    code_.name =
        fmt::format("{}{}:{}:rows={}", kLibraryProduct, tf32_ ? ":tf32" : "",
                    query_.op->name, chunks_.most);
    for (std::int64_t chunk = 0; chunk < chunks_.count(); ++chunk) {
      add(chunk * chunks_.most, chunks_.rows_of(chunk));
    }
    if (chunks_.count() == 0) {
      return cuda_op(query_, fmt::format("{}:cuda", query_.op->name),
                     gradient_ ? zeros() : "", 1);
    }
    code_.scratch_bytes = workspace_at_ + workspace_bytes_;
    return std::move(code_);
  }

 private:
  std::string zeros() const {
    return cuda_text(R"(  for (u64 i = block * 512 + threadIdx.x; i < $N;
       i += blocks * 512) {
    out1[i] = 0;
  }
)",
                     {{"N", query_.outputs[1].shape.elements()}});
  }

  cuda::Product product(std::int64_t m, std::int64_t n, std::int64_t k) {
    cuda::Product made;
    made.operands = made.output = logits_.dtype;
    made.tf32 = tf32_;
    made.m = m;
    made.n = n;
    made.k = k;
    made.workspace_offset_bytes = workspace_at_;
    made.workspace_bytes = product_workspace(m, n, k, logits_.dtype);
    workspace_bytes_ = std::max(workspace_bytes_, made.workspace_bytes);
    return made;
  }

  void add(std::int64_t first, std::int64_t rows) {
    const Operand weight{Operand::Of::input, x_ + 1, 0};
    const Operand x{Operand::Of::input, x_, first * chunks_.width * bytes_};
    const Operand logits{Operand::Of::scratch, 0, 0};

    cuda::Product score = product(rows, chunks_.classes, chunks_.width);
    score.transpose_b = chunks_.transposed;
    score.a_at = x;
    score.b_at = weight;
    score.out_at = logits;
    code_.stages.emplace_back(score);
    add_rows(first, rows);
    if (!gradient_) return;

    cuda::Product dx = product(rows, chunks_.width, chunks_.classes);
    dx.transpose_b = !chunks_.transposed;
    dx.a_at = logits;
    dx.b_at = weight;
    dx.out_at = {Operand::Of::output, 0, x.offset_bytes};
    code_.stages.emplace_back(dx);

    cuda::Product dweight = chunks_.transposed
                                ? product(chunks_.classes, chunks_.width, rows)
                                : product(chunks_.width, chunks_.classes, rows);
    dweight.transpose_a = true;
    dweight.a_at = chunks_.transposed ? logits : x;
    dweight.b_at = chunks_.transposed ? x : logits;
    dweight.out_at = {Operand::Of::output, 1, 0};
    dweight.accumulate = first > 0;
    code_.stages.emplace_back(dweight);
  }

  // The rows' losses, or their gradients in the logits' place.
  void add_rows(std::int64_t first, std::int64_t rows) {
    graph::TensorType scores = logits_;
    scores.shape = Shape{rows, chunks_.classes};
    const std::string logits = "((T*)scratch)";
    const std::string labels = fmt::format("(in{} + {})", x_ + 2, first);
    const std::string text =
        gradient_ ? sparse_grad_text(fmt::format("(in0 + {})", first), logits,
                                     labels, logits)
                  : sparse_loss_text(logits, labels,
                                     fmt::format("(out0 + {})", first));
    cuda::OpCode made = rows_cuda(query_, scores, text);
    auto& function = std::get<cuda::Function>(made.stages[0]);
    function.one_block_seconds /= static_cast<double>(chunks_.count());
    code_.stages.emplace_back(std::move(function));
  }

  const KernelQuery& query_;
  bool gradient_;
  int x_;
  LinearChunks chunks_;
  std::int64_t bytes_ = 4;
  graph::TensorType logits_;
  bool tf32_ = false;
  std::int64_t workspace_at_ = 0;
  std::int64_t workspace_bytes_ = 0;
  cuda::OpCode code_;
};

template <bool kGradient>
Result<cuda::OpCode> code(const KernelQuery& query,
                          const CudaSettings& settings) {
  return Stages(query, kGradient, settings).run();
}

constexpr CudaKernels kKernels[] = {{"linear_cross_entropy", code<false>},
                                    {"linear_cross_entropy_grad", code<true>}};

}  // namespace

std::span<const CudaKernels> linear_loss_cuda_kernels() { return kKernels; }

}  // namespace plimsoll::ops
