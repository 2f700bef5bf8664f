#include "device/cuda/cublaslt_product.h"

#include <fmt/core.h>

#include <memory>

#include "device/cuda/cuda_stream.h"
#include "device/cuda/driver.h"
#include "device/cuda/operand_address.h"

namespace plimsoll::cuda {
namespace {

cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return CUDA_R_64F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::f16:
      return CUDA_R_16F;
    default:
      return CUDA_R_32F;
  }
}

cublasComputeType_t compute_type(const Product& product) {
  if (product.operands == DType::f64) return CUBLAS_COMPUTE_64F;
  if (product.operands == DType::f32 && product.tf32) {
    return CUBLAS_COMPUTE_32F_FAST_TF32;
  }
  return CUBLAS_COMPUTE_32F;
}

cublasLtEpilogue_t epilogue(const Product& product) {
  if (product.bias) {
    return product.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  }
  return product.relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
}

// Handles of the library that go with their owner.
struct Destroy {
  void operator()(cublasLtMatmulDescOpaque_t* p) const {
    cublasLtMatmulDescDestroy(p);
  }
  void operator()(cublasLtMatrixLayoutOpaque_t* p) const {
    cublasLtMatrixLayoutDestroy(p);
  }
  void operator()(cublasLtMatmulPreferenceOpaque_t* p) const {
    cublasLtMatmulPreferenceDestroy(p);
  }
};
template <class T>
using Owned = std::unique_ptr<T, Destroy>;
using Description = Owned<cublasLtMatmulDescOpaque_t>;
using Layout = Owned<cublasLtMatrixLayoutOpaque_t>;
using Preference = Owned<cublasLtMatmulPreferenceOpaque_t>;

template <class T>
Status set(const Description& description,
           cublasLtMatmulDescAttributes_t attribute, const T& value) {
  return check("cublasLtMatmulDescSetAttribute",
               cublasLtMatmulDescSetAttribute(description.get(), attribute,
                                              &value, sizeof(value)));
}

template <class T>
Status set(const Preference& preference,
           cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
  return check("cublasLtMatmulPreferenceSetAttribute",
               cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute,
                                                    &value, sizeof(value)));
}

template <class T>
Status set(const Layout& layout, cublasLtMatrixLayoutAttribute_t attribute,
           const T& value) {
  return check("cublasLtMatrixLayoutSetAttribute",
               cublasLtMatrixLayoutSetAttribute(layout.get(), attribute, &value,
                                                sizeof(value)));
}

// The library's matrices are column-major: ours, seen so, are transposed, and
// out' = b' a'.
class LtProduct final : public CudaWork {
 public:
  LtProduct(cublasLtHandle_t handle, const Product& product)
      : handle_(handle), product_(product) {}

  Status prepare() {
    PLIMSOLL_RETURN_IF_ERROR(describe());
    const auto type = data_type(product_.operands);
    const Product& p = product_;
    PLIMSOLL_ASSIGN(b_,
                    layout(type, p.n, p.k, p.transpose_b, p.b_row, p.b_batch));
    PLIMSOLL_ASSIGN(a_,
                    layout(type, p.k, p.m, p.transpose_a, p.a_row, p.a_batch));
    PLIMSOLL_ASSIGN(out_, layout(data_type(p.output), p.n, p.m, false,
                                 p.out_row, p.m * p.n));
    return choose();
  }

  Status launch(Stream& stream, const void* const* inputs, void* const* outputs,
                void* scratch) override {
    const auto at = [&](const Operand& operand) {
      return address_of(operand, inputs, outputs, scratch);
    };
    void* const output = at(product_.out_at);
    void* const workspace =
        static_cast<std::byte*>(scratch) + product_.workspace_offset_bytes;
    enter_context();
    if (product_.bias) {
      PLIMSOLL_RETURN_IF_ERROR(
          set(description_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, inputs[2]));
    }
    return check(
        "cublasLtMatmul",
        cublasLtMatmul(handle_, description_.get(), one(), at(product_.b_at),
                       b_.get(), at(product_.a_at), a_.get(),
                       product_.accumulate ? one() : zero(), output, out_.get(),
                       output, out_.get(), &algorithm_, workspace,
                       workspace_bytes_, handle_of(stream)));
  }

  std::string algorithm() const override {
    int id = -1;
    std::uint32_t tile = 0;
    std::int32_t splits = 0;
    const auto get = [&](cublasLtMatmulAlgoConfigAttributes_t attribute,
                         auto& value) {
      cublasLtMatmulAlgoConfigGetAttribute(&algorithm_, attribute, &value,
                                           sizeof(value), nullptr);
    };
    get(CUBLASLT_ALGO_CONFIG_ID, id);
    get(CUBLASLT_ALGO_CONFIG_TILE_ID, tile);
    get(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, splits);
    return fmt::format("algorithm {} tile {} splits {} workspace {}", id, tile,
                       splits, workspace_bytes_);
  }

 private:
  Status describe() {
    const cudaDataType_t scale =
        product_.operands == DType::f64 ? CUDA_R_64F : CUDA_R_32F;
    cublasLtMatmulDesc_t made = nullptr;
    PLIMSOLL_RETURN_IF_ERROR(
        check("cublasLtMatmulDescCreate",
              cublasLtMatmulDescCreate(&made, compute_type(product_), scale)));
    description_.reset(made);
    const auto turned = [](bool yes) {
      return yes ? CUBLAS_OP_T : CUBLAS_OP_N;
    };
    PLIMSOLL_RETURN_IF_ERROR(set(description_, CUBLASLT_MATMUL_DESC_TRANSA,
                                 turned(product_.transpose_b)));
    PLIMSOLL_RETURN_IF_ERROR(set(description_, CUBLASLT_MATMUL_DESC_TRANSB,
                                 turned(product_.transpose_a)));
    return set(description_, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue(product_));
  }

  // `rows` and `columns` as the product takes them; stored the other way round
  // when turned.
  Result<Layout> layout(cudaDataType_t type, std::int64_t rows,
                        std::int64_t columns, bool turned, std::int64_t step,
                        std::int64_t stride) const {
    if (turned) std::swap(rows, columns);
    cublasLtMatrixLayout_t made = nullptr;
    PLIMSOLL_RETURN_IF_ERROR(check(
        "cublasLtMatrixLayoutCreate",
        cublasLtMatrixLayoutCreate(
            &made, type, static_cast<std::uint64_t>(rows),
            static_cast<std::uint64_t>(columns), step > 0 ? step : rows)));
    Layout layout(made);
    if (product_.batch > 1) {
      PLIMSOLL_RETURN_IF_ERROR(set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                   static_cast<std::int32_t>(product_.batch)));
      PLIMSOLL_RETURN_IF_ERROR(
          set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride));
    }
    return layout;
  }

  Status choose() {
    cublasLtMatmulPreference_t made = nullptr;
    PLIMSOLL_RETURN_IF_ERROR(check("cublasLtMatmulPreferenceCreate",
                                   cublasLtMatmulPreferenceCreate(&made)));
    const Preference preference(made);
    PLIMSOLL_RETURN_IF_ERROR(
        set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
            static_cast<std::size_t>(product_.workspace_bytes)));
    // Sums in place go by who comes first; sums in the output's type round
    // each part to it.
    constexpr std::uint32_t kInOrder = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    PLIMSOLL_RETURN_IF_ERROR(
        set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, kInOrder));
    for (const auto side : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      PLIMSOLL_RETURN_IF_ERROR(set(preference, side, std::uint32_t{64}));
    }
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    PLIMSOLL_RETURN_IF_ERROR(check(
        "cublasLtMatmulAlgoGetHeuristic",
        cublasLtMatmulAlgoGetHeuristic(handle_, description_.get(), b_.get(),
                                       a_.get(), out_.get(), out_.get(),
                                       preference.get(), 1, &found, &count)));
    if (count == 0) {
      return Error{ErrorCode::unsupported,
                   "cuBLASLt has no algorithm for this product"};
    }
    algorithm_ = found.algo;
    workspace_bytes_ = found.workspaceSize;
    return {};
  }

  const void* one() const {
    static constexpr float kF32 = 1;
    static constexpr double kF64 = 1;
    if (product_.operands == DType::f64) return &kF64;
    return &kF32;
  }
  const void* zero() const {
    static constexpr double kZero = 0;  // as f32 too
    return &kZero;
  }

  cublasLtHandle_t handle_;
  Product product_;
  Description description_;
  Layout a_, b_, out_;
  cublasLtMatmulAlgo_t algorithm_{};
  std::size_t workspace_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<CudaWork>> make_cublaslt_product(
    cublasLtHandle_t handle, const Product& product) {
  auto made = std::make_unique<LtProduct>(handle, product);
  auto prepared = made->prepare();
  if (!prepared) {
    Error error = std::move(prepared).error();
    error.message +=
        fmt::format(" (product {}x{}x{}, batch {}, {} to {})", product.m,
                    product.n, product.k, product.batch,
                    name_of(product.operands), name_of(product.output));
    return error;
  }
  return std::unique_ptr<CudaWork>(std::move(made));
}

std::string cublaslt_version() {
  const auto version = cublasLtGetVersion();
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100,
                     version % 100);
}

Status check(const char* call, cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return Error{ErrorCode::device,
               fmt::format("{}: {}", call, cublasLtGetStatusName(status))};
}

}  // namespace plimsoll::cuda
