// Owners of oneDNN's C handles, and the process's one CPU engine.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include <memory>
#include <type_traits>

namespace plimsoll::ops {

template <auto Destroy>
struct DnnlDestroy {
  template <class Handle>
  void operator()(Handle* handle) const noexcept {
    Destroy(handle);
  }
};
template <class Handle, auto Destroy>
using DnnlOwner =
    std::unique_ptr<std::remove_pointer_t<Handle>, DnnlDestroy<Destroy>>;

using DnnlPrimitive = DnnlOwner<dnnl_primitive_t, dnnl_primitive_destroy>;
using DnnlPrimitiveDesc =
    DnnlOwner<dnnl_primitive_desc_t, dnnl_primitive_desc_destroy>;
using DnnlMemory = DnnlOwner<dnnl_memory_t, dnnl_memory_destroy>;
using DnnlMemoryDesc = DnnlOwner<dnnl_memory_desc_t, dnnl_memory_desc_destroy>;
using DnnlAttr = DnnlOwner<dnnl_primitive_attr_t, dnnl_primitive_attr_destroy>;
using DnnlPostOps = DnnlOwner<dnnl_post_ops_t, dnnl_post_ops_destroy>;

// Engine and stream live as long as the process. Primitives are not cached by
// the library: their memory is planned.
struct DnnlCpu {
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
  bool ok = false;
};
inline const DnnlCpu& dnnl_cpu_runtime() {
  static const DnnlCpu cpu = [] {
    DnnlCpu made;
    made.ok = dnnl_set_primitive_cache_capacity(0) == dnnl_success &&
              dnnl_engine_create(&made.engine, dnnl_cpu, 0) == dnnl_success &&
              dnnl_stream_create(&made.stream, made.engine,
                                 dnnl_stream_default_flags) == dnnl_success;
    return made;
  }();
  return cpu;
}

}  // namespace plimsoll::ops
