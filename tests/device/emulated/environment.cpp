// Linked into a test for GPUs, it runs on the emulated one instead.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace plimsoll::emulated {
namespace {

class Environment final : public ::testing::Environment {
 public:
  void SetUp() override {
    if (!PLIMSOLL_EMULATED_ALWAYS &&
        std::getenv("PLIMSOLL_ALL_KERNELS") == nullptr) {
      setenv("FAKE_CUDA_SKIPS", "takes minutes: set PLIMSOLL_ALL_KERNELS=1", 1);
      return;
    }
    for (const char* library : {PLIMSOLL_FAKE_NVML, PLIMSOLL_FAKE_CUDA}) {
      ASSERT_NE(dlopen(library, RTLD_NOW), nullptr) << dlerror();
    }
    // What is measured on it is not for anyone's cache.
    setenv("XDG_CACHE_HOME", ::testing::TempDir().c_str(), 1);
    setenv("PLIMSOLL_CUDA_MODULE", PLIMSOLL_FAKE_CUDA_MODULE, 1);
    // Before the library's own layers, with the matrix units.
    setenv("FAKE_CUDA_COMPUTES", "sm_80", 1);
  }
};

const auto* const kAdded = ::testing::AddGlobalTestEnvironment(new Environment);

}  // namespace
}  // namespace plimsoll::emulated
