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
// The library's fast products want rows that begin on 16 bytes.
constexpr std::int64_t kRowElements = 64;

// Sums over rows, of 64 classes at a time by eight threads each; `more`: they
// are added to what is there.
constexpr std::string_view kSumRows = R"(  typedef $C C;
  C* const parts = shared_lanes<C>();
  const u32 column = threadIdx.x % 64;
  for (u64 tile = block; tile * 64 < $classes; tile += blocks) {
    const u64 j = tile * 64 + column;
    C sum = 0;
    if (j < $classes) {
#pragma unroll 8
      for (u32 row = threadIdx.x / 64; row < $rows; row += 8) {
        sum = add(sum, (C)load($gradients[(u64)row * $step + j]));
      }
    }
    parts[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x < 64 && j < $classes) {
      for (u32 part = 1; part < 8; ++part) {
        sum = add(sum, parts[part * 64 + column]);
      }
      out2[j] = $more ? add(out2[j], sum) : sum;
    }
    __syncthreads();
  }
)";

class Stages {
 public:
  Stages(const KernelQuery& query, bool gradient, const CudaSettings& settings)
      : query_(query), gradient_(gradient), x_(gradient ? 1 : 0) {
    const graph::TensorType& x = query.inputs[static_cast<std::size_t>(x_)];
    const graph::TensorType& weight =
        query.inputs[static_cast<std::size_t>(x_ + 1)];
    chunks_ = LinearChunks::of(x, weight, *query.attrs);
    bias_ = query.inputs.size() == static_cast<std::size_t>(x_ + 4);
    dtype_ = x.dtype;
    compute_ = wide_dtype(dtype_);
    tf32_ = settings.tf32 && dtype_ == DType::f32;
    step_ = round_up(chunks_.classes, kRowElements);
    // Gradients of another type lie beside the logits, others in their place.
    const std::int64_t logits = chunks_.most * step_;
    workspace_at_ = round_up(logits * size_of(compute_), kAlignment);
    if (gradient && dtype_ != compute_) {
      gradients_at_ = workspace_at_;
      workspace_at_ += round_up(logits * size_of(dtype_), kAlignment);
    }
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
    std::string text;
    for (std::size_t i = 1; i < query_.outputs.size(); ++i) {
      text += cuda_text(R"(  for (u64 i = block * 512 + threadIdx.x; i < $N;
       i += blocks * 512) {
    out$number[i] = 0;
  }
)",
                        {{"N", query_.outputs[i].shape.elements()},
                         {"number", static_cast<std::int64_t>(i)}});
    }
    return text;
  }

  cuda::Product product(std::int64_t m, std::int64_t n, std::int64_t k,
                        DType output) {
    cuda::Product made;
    made.operands = dtype_;
    made.output = output;
    made.tf32 = tf32_;
    made.m = m;
    made.n = n;
    made.k = k;
    made.workspace_offset_bytes = workspace_at_;
    made.workspace_bytes = product_workspace(m, n, k, output);
    workspace_bytes_ = std::max(workspace_bytes_, made.workspace_bytes);
    return made;
  }

  // Classes whose products are made at once.
  struct Part {
    std::int64_t first = 0;
    std::int64_t count = 0;
  };
  // The library is several times slower where an extent is odd: the last
  // classes, which do not fill a line, are a product of their own. They come
  // first, so that what the others add is rounded last.
  std::vector<Part> parts() const {
    const std::int64_t whole = chunks_.classes / kRowElements * kRowElements;
    if (!chunks_.transposed || whole == 0 || whole == chunks_.classes) {
      return {{0, chunks_.classes}};
    }
    return {{whole, chunks_.classes - whole}, {0, whole}};
  }

  void add(std::int64_t first, std::int64_t rows) {
    const Operand x{Operand::Of::input, x_,
                    first * chunks_.width * size_of(dtype_)};
    for (const Part& part : parts()) add_scores(x, rows, part);
    add_rows(first, rows);
    if (!gradient_) return;
    if (bias_) add_dbias(rows, first > 0);
    bool more = false;
    for (const Part& part : parts()) {
      add_dx(x, rows, part, more);
      add_dweight(x, rows, part, first > 0);
      more = true;
    }
  }

  // Of a weight that lies as [classes, width], or whole.
  std::int64_t weight_at(const Part& part) const {
    return part.first * chunks_.width;
  }
  Operand weight(const Part& part) const {
    return {Operand::Of::input, x_ + 1, weight_at(part) * size_of(dtype_)};
  }
  Operand gradients(const Part& part) const {
    return {Operand::Of::scratch, 0,
            gradients_at_ + part.first * size_of(dtype_)};
  }

  void add_scores(const Operand& x, std::int64_t rows, const Part& part) {
    cuda::Product score = product(rows, part.count, chunks_.width, compute_);
    score.transpose_b = chunks_.transposed;
    score.a_at = x;
    score.b_at = weight(part);
    score.out_at = {Operand::Of::scratch, 0, part.first * size_of(compute_)};
    score.out_row = step_;
    code_.stages.emplace_back(score);
  }

  void add_dx(const Operand& x, std::int64_t rows, const Part& part,
              bool accumulate) {
    cuda::Product dx = product(rows, chunks_.width, part.count, dtype_);
    dx.transpose_b = !chunks_.transposed;
    dx.a_at = gradients(part);
    dx.a_row = step_;
    dx.b_at = weight(part);
    dx.out_at = {Operand::Of::output, 0, x.offset_bytes};
    dx.accumulate = accumulate;
    code_.stages.emplace_back(dx);
  }

  void add_dweight(const Operand& x, std::int64_t rows, const Part& part,
                   bool accumulate) {
    const bool turned = chunks_.transposed;
    cuda::Product dweight =
        turned ? product(part.count, chunks_.width, rows, compute_)
               : product(chunks_.width, part.count, rows, compute_);
    dweight.transpose_a = true;
    dweight.a_at = turned ? gradients(part) : x;
    dweight.b_at = turned ? x : gradients(part);
    (turned ? dweight.a_row : dweight.b_row) = step_;
    dweight.out_at = {Operand::Of::output, 1,
                      weight_at(part) * size_of(compute_)};
    dweight.accumulate = accumulate;
    code_.stages.emplace_back(dweight);
  }

  // The rows' losses, or their gradients in the logits' place.
  void add_rows(std::int64_t first, std::int64_t rows) {
    const graph::TensorType scores{compute_, Shape{rows, chunks_.classes}};
    const std::string logits = "((T*)scratch)";
    const std::string step = fmt::format("(I){}", step_);
    const std::string labels = fmt::format("(in{} + {})", x_ + 2, first);
    const std::string bias = bias_ ? fmt::format("in{}", x_ + 3) : "";
    const SparseRows of{logits, step, labels, bias};
    const std::string text =
        gradient_ ? sparse_grad_text(of, fmt::format("(in0 + {})", first),
                                     cuda_type(dtype_), gradients_text())
                  : sparse_loss_text(of, fmt::format("(out0 + {})", first));
    cuda::OpCode made = rows_cuda(query_, scores, text);
    auto& function = std::get<cuda::Function>(made.stages[0]);
    function.one_block_seconds /= static_cast<double>(chunks_.count());
    code_.stages.emplace_back(std::move(function));
  }

  void add_dbias(std::int64_t rows, bool more) {
    const std::int64_t classes = chunks_.classes;
    const double sums =
        static_cast<double>(rows) * static_cast<double>(classes);
    const graph::Cost cost{
        .flops = sums,
        .bytes = sums * static_cast<double>(size_of(dtype_)) +
                 static_cast<double>(classes * size_of(compute_))};
    code_.stages.emplace_back(
        cuda_function(query_,
                      cuda_text(kSumRows, {{"C", cuda_type(compute_)},
                                           {"classes", classes},
                                           {"rows", rows},
                                           {"step", step_},
                                           {"gradients", gradients_text()},
                                           {"more", more ? "true" : "false"}}),
                      cuda_blocks((classes + 63) / 64), cost));
  }

  std::string gradients_text() const {
    return fmt::format("(({}*)(scratch + {}))", cuda_type(dtype_),
                       gradients_at_);
  }

  const KernelQuery& query_;
  bool gradient_;
  int x_;
  LinearChunks chunks_;
  bool bias_ = false;
  DType dtype_ = DType::f32;    // of operands
  DType compute_ = DType::f32;  // of logits
  bool tf32_ = false;
  std::int64_t step_ = 0;  // elements from one row of logits to the next
  std::int64_t gradients_at_ = 0;
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
