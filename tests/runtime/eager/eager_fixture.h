// A machine of its own for tests of eager execution.
#pragma once

#include <gtest/gtest.h>

#include "device/cpu/host_memory_source.h"
#include "ops/cpu_kernels.h"
#include "plimsoll/error.h"
#include "runtime/eager/dispatch.h"
#include "thrown.h"

namespace plimsoll::runtime::testing {

using plimsoll::testing::thrown;

class EagerTest : public ::testing::Test {
 protected:
  EagerTest()
      : kernels_(ops::make_cpu_kernels(threads_)),
        eager_(std::make_shared<Eager>(
            EagerMachine{threads_, *kernels_, memory_, ledger_})) {
    enter_eager(eager_);
  }
  ~EagerTest() override {
    leave_eager(eager_.get());
    eager_->close();
    EXPECT_EQ(memory_.mapped_bytes(), 0);
    EXPECT_EQ(ledger_.held_bytes(Space::host), 0);
  }

  std::int64_t live_bytes() const { return eager_->pool().live_bytes(); }

  HostMemorySource memory_;
  Ledger ledger_;
  ComputeThreads threads_{2};
  std::unique_ptr<ops::KernelFactory> kernels_;
  std::shared_ptr<Eager> eager_;
};

}  // namespace plimsoll::runtime::testing
