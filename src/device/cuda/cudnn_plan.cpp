#include "device/cuda/cudnn_plan.h"

#include <fmt/core.h>
#include <malloc.h>

#include <algorithm>
#include <array>

#include "device/cuda/cuda_stream.h"
#include "device/cuda/driver.h"

namespace plimsoll::cuda {
namespace {

// Later versions call these deprecated, earlier ones need them.
constexpr auto kGraphHandle = static_cast<cudnnBackendAttributeName_t>(800);
constexpr auto kPlanHandle = static_cast<cudnnBackendAttributeName_t>(400);

template <class Note, std::size_t kMost>
Result<bool> has_none_of(const CudnnDescriptor& engine,
                         cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type,
                         std::initializer_list<Note> unwanted) {
  std::array<Note, kMost> notes{};
  PLIMSOLL_ASSIGN(const std::int64_t count,
                  engine.get(name, type, kMost, notes.data()));
  const auto end = notes.begin() + std::min<std::int64_t>(count, kMost);
  return std::none_of(notes.begin(), end, [&](Note note) {
    return std::find(unwanted.begin(), unwanted.end(), note) != unwanted.end();
  });
}

Result<bool> may_run(const CudnnDescriptor& engine, const CudnnLimits& limits) {
  // Sums by who comes first, sums in halves; Fourier transforms spread an
  // error over all of an image.
  std::initializer_list<cudnnBackendNumericalNote_t> always = {
      CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC,
      CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION,
      CUDNN_NUMERICAL_NOTE_FFT};
  // In f32 the matrix units take tf32.
  std::initializer_list<cudnnBackendNumericalNote_t> in_full = {
      CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC,
      CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION,
      CUDNN_NUMERICAL_NOTE_FFT, CUDNN_NUMERICAL_NOTE_TENSOR_CORE,
      CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS};
  auto numerics =
      has_none_of<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT>(
          engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
          limits.full_precision ? in_full : always);
  if (!numerics || !*numerics) return numerics;
  if (limits.compiled) return true;
  // A compiler, or the library of products, would take memory that no plan
  // knows of.
  return has_none_of<cudnnBackendBehaviorNote_t,
                     CUDNN_BEHAVIOR_NOTE_TYPE_COUNT>(
      engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
      {CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION,
       CUDNN_BEHAVIOR_NOTE_CUBLASLT_DEPENDENCY});
}

}  // namespace

Result<CudnnPlan> CudnnPlan::choose(cudnnHandle_t handle, CudnnGraph graph,
                                    const CudnnLimits& limits) {
  PLIMSOLL_RETURN_IF_ERROR(graph.status());
  CudnnPlan made;
  made.handle_ = handle;
  made.ids_ = graph.operand_ids();
  made.ids_.insert(made.ids_.end(), graph.number_ids().begin(),
                   graph.number_ids().end());
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const CudnnDescriptor& operation : graph.operations()) {
    operations.push_back(operation.raw());
  }
  PLIMSOLL_ASSIGN(made.graph_, CudnnDescriptor::create(
                                   CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
  PLIMSOLL_RETURN_IF_ERROR(
      made.graph_.set(kGraphHandle, CUDNN_TYPE_HANDLE, 1, &handle));
  PLIMSOLL_RETURN_IF_ERROR(made.graph_.set(
      CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
      std::ssize(operations), operations.data()));
  PLIMSOLL_RETURN_IF_ERROR(made.graph_.finalize());
  const Status found = made.try_modes(limits);
  // What a compiler has freed stays in the heap: about 90 MiB in jobs, where
  // other memory lies behind it, which rehearsals would not show.
  if (limits.compiled) malloc_trim(0);
  PLIMSOLL_RETURN_IF_ERROR(found);
  made.parts_ = std::move(graph);
  return made;
}

Status CudnnPlan::try_modes(const CudnnLimits& limits) {
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    PLIMSOLL_ASSIGN(const bool found, try_engines(mode, limits));
    if (found) return {};
  }
  return Error{ErrorCode::unsupported,
               fmt::format("cuDNN {} has no engine that gives the same bits "
                           "each time within {} bytes of workspace",
                           version_text(), limits.workspace_bytes)};
}

Result<bool> CudnnPlan::try_engines(cudnnBackendHeurMode_t mode,
                                    const CudnnLimits& limits) {
  PLIMSOLL_ASSIGN(CudnnDescriptor heuristic,
                  CudnnDescriptor::create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
  PLIMSOLL_RETURN_IF_ERROR(
      heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_));
  PLIMSOLL_RETURN_IF_ERROR(heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE,
                                         CUDNN_TYPE_HEUR_MODE, 1, &mode));
  if (!heuristic.finalize()) return false;  // it knows nothing of such graphs
  PLIMSOLL_ASSIGN(const std::int64_t count,
                  heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr));
  std::vector<CudnnDescriptor> configs;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < count; ++i) {
    PLIMSOLL_ASSIGN(
        configs.emplace_back(),
        CudnnDescriptor::create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
    raw.push_back(configs.back().raw());
  }
  PLIMSOLL_ASSIGN(
      const std::int64_t given,
      heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                    CUDNN_TYPE_BACKEND_DESCRIPTOR, count, raw.data()));
  configs.resize(static_cast<std::size_t>(std::min(given, count)));
  for (const CudnnDescriptor& config : configs) {
    // What one engine cannot do the next one may.
    const auto taken = try_engine(config, limits);
    if (taken && *taken) return true;
  }
  return false;
}

Result<bool> CudnnPlan::try_engine(const CudnnDescriptor& config,
                                   const CudnnLimits& limits) {
  PLIMSOLL_ASSIGN(CudnnDescriptor engine,
                  CudnnDescriptor::create(CUDNN_BACKEND_ENGINE_DESCRIPTOR));
  cudnnBackendDescriptor_t raw = engine.raw();
  PLIMSOLL_RETURN_IF_ERROR(config.get(CUDNN_ATTR_ENGINECFG_ENGINE,
                                      CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw));
  PLIMSOLL_ASSIGN(const bool may, may_run(engine, limits));
  if (!may) return false;
  PLIMSOLL_ASSIGN(
      CudnnDescriptor plan,
      CudnnDescriptor::create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
  PLIMSOLL_RETURN_IF_ERROR(
      plan.set(kPlanHandle, CUDNN_TYPE_HANDLE, 1, &handle_));
  PLIMSOLL_RETURN_IF_ERROR(
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config));
  PLIMSOLL_RETURN_IF_ERROR(plan.finalize());
  std::int64_t bytes = 0;
  PLIMSOLL_RETURN_IF_ERROR(plan.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                    CUDNN_TYPE_INT64, 1, &bytes));
  if (bytes > limits.workspace_bytes) return false;
  PLIMSOLL_RETURN_IF_ERROR(engine.get(CUDNN_ATTR_ENGINE_GLOBAL_INDEX,
                                      CUDNN_TYPE_INT64, 1, &engine_));
  workspace_bytes_ = bytes;
  plan_ = std::move(plan);
  return true;
}

Status CudnnPlan::launch(Stream& stream, std::span<void* const> pointers,
                         void* workspace) const {
  enter_context();
  PLIMSOLL_RETURN_IF_ERROR(check(
      "cudnnSetStream", cudnn().p_cudnnSetStream(handle_, handle_of(stream))));
  PLIMSOLL_ASSIGN(
      CudnnDescriptor pack,
      CudnnDescriptor::create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
  std::vector<const void*> places(pointers.begin(), pointers.end());
  for (const float& number : parts_.numbers()) places.push_back(&number);
  PLIMSOLL_RETURN_IF_ERROR(pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids_));
  PLIMSOLL_RETURN_IF_ERROR(pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                    CUDNN_TYPE_VOID_PTR, std::ssize(places),
                                    places.data()));
  PLIMSOLL_RETURN_IF_ERROR(pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
                                    CUDNN_TYPE_VOID_PTR, 1, &workspace));
  PLIMSOLL_RETURN_IF_ERROR(pack.finalize());
  return check("cudnnBackendExecute",
               cudnn().p_cudnnBackendExecute(handle_, plan_.raw(), pack.raw()));
}

std::string CudnnPlan::engine() const {
  return fmt::format("engine {} workspace {}", engine_, workspace_bytes_);
}

}  // namespace plimsoll::cuda
