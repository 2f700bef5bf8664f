// Where eager ops run and their values lie: the host, or a device.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "ops/kernel.h"
#include "plimsoll/memory_source.h"
#include "runtime/eager/kernel_bytes.h"
#include "runtime/eager/process_bytes.h"
#include "runtime/program.h"

namespace plimsoll::runtime {

// On the host, work that takes longer is shared by threads; joining them takes
// about as long.
inline constexpr double kSharedSeconds = 5e-6;

// An op at fixed types, ready for any operands.
class PreparedLaunch {
 public:
  virtual ~PreparedLaunch() = default;
  // On a device the work is enqueued, in order with all else. What fails later
  // comes out with the next call that fails, or when numbers are read.
  virtual Status launch(const ops::LaunchArgs& args) = 0;

  std::int64_t scratch_bytes() const { return scratch_bytes_; }

 protected:
  explicit PreparedLaunch(std::int64_t scratch_bytes)
      : scratch_bytes_(scratch_bytes) {}

 private:
  const std::int64_t scratch_bytes_;
};

// A planned program whose memory is another one each time.
class MovingProgram {
 public:
  virtual ~MovingProgram() = default;
  // With what program() is bound to now; on a device it is enqueued.
  virtual Status run() = 0;
  Program& program() const { return *program_; }

 protected:
  explicit MovingProgram(std::unique_ptr<Program> program)
      : program_(std::move(program)) {}

 private:
  std::unique_ptr<Program> program_;
};

// Writes the bytes from `offset` on.
using Fill =
    std::function<void(std::span<std::byte> piece, std::int64_t offset)>;

// For one thread at a time. Launches must be gone before close().
class Backend {
 public:
  virtual ~Backend() = default;

  // Before the first value; again after an error. What the process takes for
  // it is added to `process`, which outlives the backend.
  virtual Status open(ProcessBytes& process) = 0;
  virtual void close() noexcept = 0;

  // Of the values; nobody uses it before open().
  virtual MemorySource& memory() = 0;
  virtual Space space() const = 0;

  virtual Result<std::unique_ptr<PreparedLaunch>> prepare(
      const graph::KernelQuery& query, KernelBytes& bytes) = 0;

  // What programs are lowered by, inside of enter(), and their alignment.
  virtual const graph::KernelCatalog& catalog() const = 0;
  virtual std::int64_t alignment_bytes() const = 0;
  virtual void enter(const std::function<void()>& work) = 0;
  // `lowered` and `plan` must outlive the result; errors are in the name of the
  // plan.
  virtual Result<std::unique_ptr<MovingProgram>> prepare(
      const graph::LoweredGraph& lowered, const plan::ProgramPlan& plan,
      ProgramMemory memory, KernelBytes& bytes) = 0;

  // Waits, and says whether all that was launched has run.
  virtual Status check() = 0;
  // Done, as far as the caller's memory goes, when it returns.
  virtual Status write(std::byte* to, std::span<const std::byte> from) = 0;
  // The same, made piece by piece.
  virtual Status fill(std::byte* to, std::int64_t bytes, const Fill& fill) = 0;
  virtual Status copy(std::byte* to, const std::byte* from,
                      std::int64_t bytes) = 0;
  // Waits for what was launched before.
  virtual Status read(std::span<std::byte> to, const std::byte* from) = 0;
};

}  // namespace plimsoll::runtime
