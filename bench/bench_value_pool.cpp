// What a block of an eager value costs: the pool beside the C library, and the
// same mixed load on both.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "base/units.h"
#include "device/cpu/host_memory_source.h"
#include "runtime/eager/value_pool.h"

namespace plimsoll::runtime {
namespace {

void pair_of_pool(benchmark::State& state) {
  HostMemorySource source;
  Ledger ledger;
  ValuePool pool(source, ledger);
  for (auto _ : state) {
    const auto block = pool.allocate(state.range(0));
    benchmark::DoNotOptimize(block->data);
    pool.release(*block);
  }
}

void pair_of_malloc(benchmark::State& state) {
  for (auto _ : state) {
    void* block =
        std::aligned_alloc(64, static_cast<std::size_t>(state.range(0)));
    benchmark::DoNotOptimize(block);
    std::free(block);
  }
}

// A step's worth: blocks come in one order and go in another.
void step_of_pool(benchmark::State& state) {
  HostMemorySource source;
  Ledger ledger;
  ValuePool pool(source, ledger);
  constexpr std::size_t kBlocks = 64;
  std::vector<Block> blocks(kBlocks);
  for (auto _ : state) {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      const auto bytes = static_cast<std::int64_t>(i % 8 + 1) * state.range(0);
      blocks[i] = *pool.allocate(bytes);
    }
    for (std::size_t i = 0; i < kBlocks; ++i) {
      pool.release(blocks[i * 7 % kBlocks]);
    }
  }
  state.SetItemsProcessed(state.iterations() *
                          static_cast<std::int64_t>(kBlocks));
}

// Each block replaces another that was picked at random.
void random_blocks(benchmark::State& state) {
  HostMemorySource source;
  Ledger ledger;
  ValuePool pool(source, ledger);
  std::mt19937_64 random(1);
  std::uniform_int_distribution<std::int64_t> size(4, state.range(0));
  std::vector<Block> blocks(1000);
  for (auto _ : state) {
    Block& block = blocks[random() % blocks.size()];
    pool.release(block);
    block = *pool.allocate(size(random));
  }
  // How many blocks needed new memory.
  state.counters["grown"] = static_cast<double>(ledger.charges()) /
                            static_cast<double>(state.iterations());
  state.counters["held/peak"] = static_cast<double>(pool.held_bytes()) /
                                static_cast<double>(pool.peak_live_bytes());
}

BENCHMARK(pair_of_pool)->RangeMultiplier(16)->Range(4, 64 * kMiB);
BENCHMARK(pair_of_malloc)->RangeMultiplier(16)->Range(64, 64 * kMiB);
BENCHMARK(step_of_pool)->Arg(64)->Arg(4 * kKiB)->Arg(256 * kKiB);
BENCHMARK(random_blocks)->Arg(kKiB)->Arg(64 * kKiB)->Arg(kMiB);

}  // namespace
}  // namespace plimsoll::runtime

BENCHMARK_MAIN();
