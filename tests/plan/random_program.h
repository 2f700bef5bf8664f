// Programs made by hand: the shape of a training step without any op behind it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "graph/lowered.h"

namespace plimsoll::plan::testing {

// A small pure generator, so that a seed means the same program everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  // From low to high, both included.
  std::int64_t between(std::int64_t low, std::int64_t high);
  bool chance(int percent) { return between(1, 100) <= percent; }

 private:
  std::uint64_t state_;
};

// Builds a lowered program line by line.
class ProgramBuilder {
 public:
  graph::BufferId buffer(std::string name, std::int64_t bytes,
                         graph::Phase phase = graph::Phase::forward);
  graph::BufferId input(std::string name, std::int64_t bytes);
  graph::BufferId state(std::string name, std::int64_t bytes);
  graph::BufferId output(std::string name, std::int64_t bytes);
  // Appends an instruction; `after` is found from the buffers.
  int run(std::string name, std::initializer_list<graph::BufferId> inputs,
          std::initializer_list<graph::BufferId> outputs,
          graph::Phase phase = graph::Phase::forward,
          std::int64_t scratch_bytes = 0);
  int run(std::string name, std::vector<graph::BufferId> inputs,
          std::vector<graph::BufferId> outputs, graph::Phase phase,
          std::int64_t scratch_bytes);

  graph::LoweredGraph program;
};

// Forward with branches, backward in reverse, an update per parameter; sizes
// from 1 B to 64 MiB, some scratch, some in-place writes, a few outputs.
graph::LoweredGraph random_program(std::uint64_t seed);

}  // namespace plimsoll::plan::testing
