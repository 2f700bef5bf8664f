#include "ops/movement/move_kernel.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "ops/movement/chunked.h"
#include "ops/movement/stream_copy.h"

namespace plimsoll::ops {
namespace {

// Short runs as the loads and stores they are; memcpy's call would cost more.
template <std::size_t kBytes>
void copy_short(const char* from, std::int64_t from_step, char* to,
                std::int64_t to_step, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * to_step, from + i * from_step, kBytes);
  }
}

void copy_runs(const char* from, std::int64_t from_step, char* to,
               std::int64_t to_step, std::int64_t count, std::int64_t run,
               bool streamed) {
  switch (run) {
    case 1:
      return copy_short<1>(from, from_step, to, to_step, count);
    case 2:
      return copy_short<2>(from, from_step, to, to_step, count);
    case 4:
      return copy_short<4>(from, from_step, to, to_step, count);
    case 8:
      return copy_short<8>(from, from_step, to, to_step, count);
    case 12:
      return copy_short<12>(from, from_step, to, to_step, count);
    case 16:
      return copy_short<16>(from, from_step, to, to_step, count);
    default:
      break;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    if (streamed) {
      stream_copy(to + i * to_step, from + i * from_step, run);
    } else {
      std::memcpy(to + i * to_step, from + i * from_step,
                  static_cast<std::size_t>(run));
    }
  }
}

template <class T>
void fill_as(char* to, std::int64_t bytes, std::uint64_t bits) {
  const T value = static_cast<T>(bits);
  for (std::int64_t i = 0; i < bytes; i += sizeof(T)) {
    std::memcpy(to + i, &value, sizeof(T));
  }
}

void fill_run(char* to, std::int64_t bytes, std::uint64_t bits,
              std::int64_t element_bytes) {
  if (bits == 0 || element_bytes == 1) {
    std::memset(to, static_cast<int>(bits), static_cast<std::size_t>(bytes));
  } else if (element_bytes == 2) {
    fill_as<std::uint16_t>(to, bytes, bits);
  } else if (element_bytes == 4) {
    fill_as<std::uint32_t>(to, bytes, bits);
  } else {
    fill_as<std::uint64_t>(to, bytes, bits);
  }
}

// How many runs all boxes have, or 0 where they differ.
std::int64_t common_runs(const Moves& moves) {
  std::int64_t runs = 0;
  for (const StridedMove& box : moves.boxes) {
    if (runs != 0 && box.runs() != runs) return 0;
    runs = box.runs();
  }
  return runs;
}

class MoveKernel final : public Kernel {
 public:
  MoveKernel(Moves moves, ComputeThreads& threads)
      : moves_(std::move(moves)),
        bytes_(moves_.bytes()),
        rows_(moves_.boxes.size() > 1 ? common_runs(moves_) : 0),
        chunks_(movement_chunks(2 * double(bytes_), threads.size())),
        threads_(threads) {
    // Rows of several boxes that lie beside each other are moved together,
    // while their lines are in L1.
    constexpr std::int64_t kTogether = 16384;
    if (rows_ >= 8 * chunks_) {
      block_rows_ = std::max<std::int64_t>(1, kTogether * rows_ / bytes_);
    }
  }

  LaunchStatus launch(const LaunchArgs& args) noexcept override {
    if (block_rows_ > 0) {
      for_ranges(threads_, chunks_, rows_,
                 [&](std::int64_t begin, std::int64_t end) {
                   move_rows(args, begin, end);
                   finish_streams();
                 });
      return LaunchStatus::ok;
    }
    // The bytes of all boxes are numbered through and cut evenly.
    for_ranges(threads_, chunks_, bytes_ / moves_.element_bytes,
               [&](std::int64_t begin, std::int64_t end) {
                 begin *= moves_.element_bytes;
                 end *= moves_.element_bytes;
                 std::int64_t first = 0;
                 for (const StridedMove& box : moves_.boxes) {
                   const std::int64_t bytes = box.bytes();
                   move(box, args, std::max(begin - first, std::int64_t{0}),
                        std::min(end - first, bytes));
                   first += bytes;
                 }
                 finish_streams();
               });
    return LaunchStatus::ok;
  }

 private:
  void move_rows(const LaunchArgs& args, std::int64_t begin,
                 std::int64_t end) const noexcept {
    for (; begin < end; begin += block_rows_) {
      const std::int64_t last = std::min(end, begin + block_rows_);
      for (const StridedMove& box : moves_.boxes) {
        move(box, args, begin * box.run, last * box.run);
      }
    }
  }

  // The box's bytes from `begin` to `end`, counted run after run.
  void move(const StridedMove& box, const LaunchArgs& args, std::int64_t begin,
            std::int64_t end) const noexcept {
    const bool fills = box.input == StridedMove::kFill;
    const char* const from =
        fills ? nullptr
              : static_cast<const char*>(args.inputs[box.input]) + box.from;
    char* const to = static_cast<char*>(args.outputs[box.output]) + box.to;
    const MoveAxis& inner = box.axes.back();
    while (begin < end) {
      const std::int64_t number = begin / box.run;
      const std::int64_t skipped = begin % box.run;
      std::int64_t source = skipped;
      std::int64_t target = skipped;
      std::int64_t rest = number;
      for (std::size_t i = box.axes.size(); i-- > 0;) {
        const MoveAxis& axis = box.axes[i];
        source += rest % axis.extent * axis.from;
        target += rest % axis.extent * axis.to;
        rest /= axis.extent;
      }
      // A part of a run at either end, whole runs along the last axis else.
      const bool whole = skipped == 0 && end - begin >= box.run;
      const std::int64_t run =
          whole ? box.run : std::min(box.run - skipped, end - begin);
      const std::int64_t count =
          whole ? std::min(inner.extent - number % inner.extent,
                           (end - begin) / box.run)
                : 1;
      if (fills) {
        for (std::int64_t i = 0; i < count; ++i) {
          fill_run(to + target + i * inner.to, run, moves_.fill_bits,
                   moves_.element_bytes);
        }
      } else {
        copy_runs(from + source, inner.from, to + target, inner.to, count, run,
                  streams(bytes_, box.run));
      }
      begin += count * run;
    }
  }

  const Moves moves_;
  const std::int64_t bytes_;
  const std::int64_t rows_;
  std::int64_t block_rows_ = 0;  // 0: boxes one after the other
  const std::int64_t chunks_;
  ComputeThreads& threads_;
};

// By the length of runs: what a call or a single element costs.
double bytes_per_second(std::int64_t run) {
  return run >= 256 ? 16e9 : run >= 8 ? 8e9 : 4e9;
}

}  // namespace

graph::KernelCandidate move_candidate(const graph::KernelQuery& query,
                                      const Moves& moves,
                                      const ComputeThreads& threads) {
  graph::KernelCandidate candidate;
  candidate.name = std::string(query.op->name);
  candidate.private_bytes =
      512 + 256 * static_cast<std::int64_t>(moves.boxes.size());
  const double bytes = 2 * double(moves.bytes());
  const auto sharing = std::min<std::int64_t>(
      movement_chunks(bytes, threads.size()), threads.size());
  candidate.seconds = 0.1e-6 + bytes / bytes_per_second(moves.shortest_run()) /
                                   static_cast<double>(sharing);
  return candidate;
}

std::unique_ptr<Kernel> make_move_kernel(Moves moves, ComputeThreads& threads) {
  return std::make_unique<MoveKernel>(std::move(moves), threads);
}

}  // namespace plimsoll::ops
