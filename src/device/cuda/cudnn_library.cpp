#include "device/cuda/cudnn_library.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <utility>

namespace plimsoll::cuda {
namespace {

CudnnCalls the_calls;

Status load() {
  const std::string name = fmt::format("libcudnn.so.{}", CUDNN_MAJOR);
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Error{ErrorCode::device,
                 fmt::format("cuDNN cannot be opened: {}", dlerror())};
  }
#define PLIMSOLL_LOAD(name)                                                \
  the_calls.p_##name =                                                     \
      reinterpret_cast<decltype(&::name)>(dlsym(library, #name));          \
  if (the_calls.p_##name == nullptr) {                                     \
    return Error{ErrorCode::device, "cuDNN is too old: it has no " #name}; \
  }
  PLIMSOLL_CUDNN_CALLS(PLIMSOLL_LOAD)
#undef PLIMSOLL_LOAD
  return {};
}

}  // namespace

Result<const CudnnCalls*> load_cudnn() {
  static const Status loaded = load();
  if (!loaded) return loaded.error();
  return &the_calls;
}

const CudnnCalls& cudnn() { return the_calls; }

std::string version_text() {
  const std::size_t version = the_calls.p_cudnnGetVersion();
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100,
                     version % 100);
}

Status check(const char* call, cudnnStatus_t status) {
  if (status == CUDNN_STATUS_SUCCESS) return {};
  char text[256] = {};
  the_calls.p_cudnnGetLastErrorString(text, sizeof(text));
  // The 3xxx: what the library has no engine for.
  const bool unsupported = CUDNN_STATUS_CATEGORY(status) == 3000;
  return Error{
      unsupported ? ErrorCode::unsupported : ErrorCode::device,
      fmt::format("{}: {}{}{}", call, the_calls.p_cudnnGetErrorString(status),
                  *text ? ": " : "", text)};
}

Result<CudnnDescriptor> CudnnDescriptor::create(
    cudnnBackendDescriptorType_t type) {
  CudnnDescriptor made;
  PLIMSOLL_RETURN_IF_ERROR(
      check("cudnnBackendCreateDescriptor",
            the_calls.p_cudnnBackendCreateDescriptor(type, &made.raw_)));
  return made;
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : raw_(std::exchange(other.raw_, nullptr)) {}

CudnnDescriptor& CudnnDescriptor::operator=(CudnnDescriptor&& other) noexcept {
  std::swap(raw_, other.raw_);
  return *this;
}

CudnnDescriptor::~CudnnDescriptor() {
  if (raw_ != nullptr) the_calls.p_cudnnBackendDestroyDescriptor(raw_);
}

Status CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type,
                            std::int64_t count, const void* values) {
  return check(
      "cudnnBackendSetAttribute",
      the_calls.p_cudnnBackendSetAttribute(raw_, name, type, count, values));
}

Status CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                            const CudnnDescriptor& part) {
  return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &part.raw_);
}

Status CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                            const std::vector<std::int64_t>& values) {
  return set(name, CUDNN_TYPE_INT64, std::ssize(values), values.data());
}

Result<std::int64_t> CudnnDescriptor::get(cudnnBackendAttributeName_t name,
                                          cudnnBackendAttributeType_t type,
                                          std::int64_t most,
                                          void* values) const {
  std::int64_t count = 0;
  PLIMSOLL_RETURN_IF_ERROR(check("cudnnBackendGetAttribute",
                                 the_calls.p_cudnnBackendGetAttribute(
                                     raw_, name, type, most, &count, values)));
  return count;
}

Status CudnnDescriptor::finalize() {
  return check("cudnnBackendFinalize", the_calls.p_cudnnBackendFinalize(raw_));
}

}  // namespace plimsoll::cuda
